/* SPDX-License-Identifier: BSD-3-Clause */
#include "datasets/resample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Weights of one output sample: `count` input indices from `first`, before the border rule. */
static int taps(rb_resampling how, double s, int64_t i, int64_t *first, double *w) {
  double u = ((double)i + 0.5) * s - 0.5;
  if (how == RB_NEAREST) {
    *first = (int64_t)floor(u + 0.5);
    w[0] = 1;
    return 1;
  }
  double width = how == RB_ANTIALIAS && s > 1 ? s : 1, sum = 0;
  *first = (int64_t)ceil(u - width);
  int count = (int)(floor(u + width) - (double)*first) + 1;
  for (int k = 0; k < count; k++) {
    w[k] = fmax(0, 1 - fabs((double)(*first + k) - u) / width);
    sum += w[k];
  }
  for (int k = 0; k < count; k++) w[k] /= sum;
  return count;
}

/* ... 1 0 | 0 1 ... for antialias, the border value for the others. */
static int64_t border(rb_resampling how, int64_t j, int64_t n) {
  if (how == RB_ANTIALIAS) {
    j = rb_wrap(j, 2 * n);
    return j < n ? j : 2 * n - 1 - j;
  }
  return j < 0 ? 0 : j >= n ? n - 1 : j;
}

/* One axis: in is [outer][n_in][inner], out is [outer][n_out][inner]. */
static rb_status axis(rb_resampling how, int64_t outer, int64_t n_in, int64_t n_out, int64_t inner, const float *in,
                      float *out) {
  rb_status st = RB_OK;
  double s = (double)n_in / (double)n_out;
  int most = 2 * (int)ceil(s > 1 ? s : 1) + 2;
  double *w = malloc((size_t)n_out * (size_t)most * sizeof *w);
  int64_t *first = malloc((size_t)n_out * sizeof *first);
  int *count = malloc((size_t)n_out * sizeof *count);
  RB_CHECK(w && first && count, RB_ENOMEM, "host memory");
  for (int64_t i = 0; i < n_out; i++) count[i] = taps(how, s, i, &first[i], w + i * most);
#pragma omp parallel for collapse(2) schedule(static)
  for (int64_t o = 0; o < outer; o++)
    for (int64_t i = 0; i < n_out; i++) {
      float *to = out + (o * n_out + i) * inner;
      for (int64_t q = 0; q < inner; q++) {
        double sum = 0;
        for (int k = 0; k < count[i]; k++)
          sum += w[i * most + k] * (double)in[(o * n_in + border(how, first[i] + k, n_in)) * inner + q];
        to[q] = (float)sum;
      }
    }
done:
  free(count), free(first), free(w);
  return st;
}

rb_status rb_resample(rb_resampling how, rb_grid from, const float *in, rb_grid to, float *out) {
  rb_status st = RB_OK;
  float *a = malloc((size_t)(from.n[0] * from.n[1] * to.n[2]) * sizeof *a);
  float *b = malloc((size_t)(from.n[0] * to.n[1] * to.n[2]) * sizeof *b);
  RB_CHECK(a && b, RB_ENOMEM, "host memory for resampling");
  RB_TRY(axis(how, from.n[0] * from.n[1], from.n[2], to.n[2], 1, in, a));
  RB_TRY(axis(how, from.n[0], from.n[1], to.n[1], to.n[2], a, b));
  RB_TRY(axis(how, 1, from.n[0], to.n[0], to.n[1] * to.n[2], b, out));
done:
  free(b), free(a);
  return st;
}
