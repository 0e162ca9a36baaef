/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the average family. */
#include "experiments/runner/check/check.h"
#include "experiments/runner/inputs/host_apply.h"
#include "kernels/average/average.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { IMAGES = 5 };

/* images [IMAGES][count], added in `order`. */
static rb_status by(const rb_variant *v, const rb_average_desc *d, const int order[IMAGES],
                    const double weight[IMAGES], const void *images, void *mean) {
  rb_status st = RB_OK;
  const rb_backend *b;
  rb_average_plan *p = NULL;
  rb_array in = {0}, to = {0};
  double total = 0;
  RB_TRY(rb_backend_get(v->backend, &b));
  RB_TRY(rb_average_create(v, d, &p));
  RB_TRY(rb_to_backend(b, images, d->dtype, IMAGES * d->count, &in));
  RB_TRY(rb_poisoned(b, d->dtype, d->count, &to));
  for (int again = 0; again < 2; again++) { /* a second mean forgets the first */
    RB_TRY(rb_average_clear(p));
    total = 0;
    for (int k = 0; k < IMAGES; k++) {
      RB_TRY(rb_average_add(p, weight[order[k]], rb_array_part(in, order[k] * d->count, d->count)));
      total += weight[order[k]];
    }
  }
  RB_TRY(rb_average_finish(p, total, to));
  RB_TRY(rb_array_download(to, mean));
done:
  rb_average_destroy(p);
  rb_array_destroy(&to), rb_array_destroy(&in);
  return st;
}

static const int forth[IMAGES] = {0, 1, 2, 3, 4}, back[IMAGES] = {4, 2, 0, 3, 1};

static void one_count(rb_checker *c, const rb_average_desc *d) {
  static const double equal[IMAGES] = {1, 1, 1, 1, 1}, unequal[IMAGES] = {0.25, 1, 2.5, 0.7, 0.3};
  const int fixed = d->kind == RB_SUM_FIXED;
  const size_t one = (size_t)d->count * rb_dtype_size(d->dtype);
  const char *kind = fixed ? "fixed point" : "floating point";
  char *images = malloc(IMAGES * one), *got = malloc(one), *want = malloc(one);
  rb_check_random(d->dtype, images, IMAGES * d->count, 95);
  for (int w = 0; w < 2; w++)
    if (rb_check_status(c, by(c->variant, d, forth, w ? unequal : equal, images, got), "mean") &&
        rb_check_status(c, by(&rb_average_family.variants[0], d, forth, w ? unequal : equal, images, want), "oracle"))
      rb_check_value(c, rb_check_distance(d->dtype, got, want, d->count),
                     fixed ? 0 : rb_average_tolerance(d, IMAGES, 1), "mean of %lld values, %s %s%s",
                     (long long)d->count, kind, rb_dtype_name(d->dtype), fixed ? ", bitwise" : "");
  if (rb_check_status(c, by(c->variant, d, back, equal, images, want), "another order"))
    if (rb_check_status(c, by(c->variant, d, forth, equal, images, got), "mean"))
      rb_check_value(c, rb_check_distance(d->dtype, got, want, d->count),
                     fixed ? 0 : 2 * rb_average_tolerance(d, IMAGES, 1), "in another order, %s", kind);
  for (int k = 0; k < IMAGES; k++)
    for (int64_t i = 0; i < d->count; i++) rb_check_set(d->dtype, images, k * d->count + i, (double)(i % 200));
  if (rb_check_status(c, by(c->variant, d, forth, equal, images, got), "equal images"))
    rb_check_value(c, rb_check_distance(d->dtype, got, images, d->count), 0, "five equal whole numbers, %s", kind);
  free(want), free(got), free(images);
}

void rb_check_average(rb_checker *c) {
  static const int64_t counts[] = {1, 3, 4, 255, 1023, 4096, 100003};
  for (int t = RB_F32; t <= RB_F64; t++)
    for (int kind = RB_SUM_FIXED; kind <= RB_SUM_FLOAT; kind++)
      for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        const rb_average_desc d = {.count = counts[k], .kind = (rb_sum_kind)kind, .dtype = (rb_dtype)t};
        int ok = ((const rb_average_ops *)c->variant->ops)->supports(&d) == RB_OK;
        rb_clear();
        if (ok && (c->largest == 0 || counts[k] <= 1000 * c->largest)) one_count(c, &d);
      }
}

void rb_check_average_golden(rb_checker *c) {
  const rb_variant *v = c->of_variant ? c->variant : &rb_average_family.variants[0];
  static const double weight[IMAGES] = {1, 2, 1, 0.5, 1.5};
  enum { N = 37 };
  float images[IMAGES * N], mean[N];
  rb_check_random(RB_F32, images, IMAGES * N, 96);
  for (int kind = RB_SUM_FIXED; kind <= RB_SUM_FLOAT; kind++) {
    const rb_average_desc d = {.count = N, .kind = (rb_sum_kind)kind, .dtype = RB_F32};
    if (!rb_check_status(c, by(v, &d, forth, weight, images, mean), "golden")) return;
    rb_check_golden(c, kind == RB_SUM_FIXED ? "fixed" : "float", mean, N, rb_average_tolerance(&d, IMAGES, 1));
  }
}
