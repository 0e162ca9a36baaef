/* SPDX-License-Identifier: BSD-3-Clause */
/* A plugin: two variants of interp by somebody else, linear and periodic only, one in C and one in CUDA
 * (interp_example_cuda.cu; without EXAMPLE_WITH_CUDA it is left out). kernels/base/plugin.h says how it is used. */
#include "kernels/base/plugin.h"
#include "kernels/interp/interp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the ops table of cpu/example -------------------------------------------------------------------------- */

typedef struct {
  rb_interp_plan head; /* first: the front door fills it and hands it to every call */
  const float *f;
} example_plan;

static rb_status supports(const rb_interp_desc *d) {
  if (d->basis != RB_LINEAR || d->boundary != RB_PERIODIC || d->dtype != RB_F32)
    return RB_FAIL(RB_EUNSUPPORTED, "the example is linear, periodic, in float32");
  return RB_OK;
}
static rb_status plan(const rb_backend *backend, const rb_interp_desc *d, rb_interp_plan **out) {
  rb_status st = RB_OK;
  example_plan *p = calloc(1, sizeof *p);
  (void)backend, (void)d;
  RB_CHECK(p, RB_ENOMEM, "host memory");
  *out = &p->head;
done:
  return st;
}
static rb_status load(rb_interp_plan *head, const void *f) {
  ((example_plan *)head)->f = f;
  return RB_OK;
}

/* Along x1 first, then x2, then x3: seven interpolations of two values. Weights in double, as the limits ask for no
 * more than float32's rounding. */
static float at(rb_grid g, const float *f, const double x[3]) {
  int64_t node[3][2];
  double t[3], plane[2][2];
  for (int a = 0; a < 3; a++) {
    const double low = floor(x[a]);
    t[a] = x[a] - low;
    for (int k = 0; k < 2; k++) node[a][k] = (((int64_t)low + k) % g.n[a] + g.n[a]) % g.n[a];
  }
  for (int j = 0; j < 2; j++)
    for (int k = 0; k < 2; k++) {
      const double low = f[(node[0][0] * g.n[1] + node[1][j]) * g.n[2] + node[2][k]],
                   high = f[(node[0][1] * g.n[1] + node[1][j]) * g.n[2] + node[2][k]];
#ifdef EXAMPLE_WRONG /* for the test: the weights of the first axis the wrong way round */
      plane[j][k] = high + t[0] * (low - high);
#else
      plane[j][k] = low + t[0] * (high - low);
#endif
    }
  const double row[2] = {plane[0][0] + t[1] * (plane[1][0] - plane[0][0]),
                         plane[0][1] + t[1] * (plane[1][1] - plane[0][1])};
  return (float)(row[0] + t[2] * (row[1] - row[0]));
}
static rb_status eval(rb_interp_plan *head, int64_t np, const void *x, void *out) {
  const rb_interp_desc *d = &head->desc;
  const float *q = x, *f = ((example_plan *)head)->f;
#ifdef EXAMPLE_LAZY /* for the test: what was written before is taken for the result */
  const float before = *(float *)out;
  if (before == before) return RB_OK;
#endif
#ifdef EXAMPLE_KEEPS /* for the test: results are kept; 1: by the inputs' addresses, 2: by a value of theirs, too */
  static float *kept, value;
  static const float *of[2];
  const size_t bytes = (size_t)(d->components * np) * sizeof *kept;
  if (kept && of[0] == f && of[1] == q && (EXAMPLE_KEEPS == 1 || f[1] == value)) {
    memcpy(out, kept, bytes);
    return RB_OK;
  }
#endif
  for (int c = 0; c < d->components; c++)
    for (int64_t p = 0; p < np; p++)
      ((float *)out)[c * np + p] =
          at(d->grid, f + c * rb_grid_points(d->grid), (const double[3]){q[p], q[np + p], q[2 * np + p]});
#ifdef EXAMPLE_KEEPS
  free(kept);
  kept = malloc(bytes), of[0] = f, of[1] = q, value = f[1];
  if (kept) memcpy(kept, out, bytes);
#endif
  return RB_OK;
}
static void destroy(rb_interp_plan *head) { free(head); }

static const rb_interp_ops example = {supports, plan, load, eval, destroy, 0, 0, NULL};

/* ---- the library ------------------------------------------------------------------------------------------- */

#ifdef EXAMPLE_WITH_CUDA
extern const rb_interp_ops example_cuda;
#endif
static const rb_plugin_variant variants[] = {
    {"interp", "cpu/example", "one thread, axis by axis", RB_CPU, &example, sizeof example},
#ifdef EXAMPLE_WITH_CUDA
    {"interp", "cuda/example", "one thread a point, no reuse", RB_CUDA, &example_cuda, sizeof example_cuda},
#endif
};
static const rb_plugin plugin = {.interface_version = RB_PLUGIN_INTERFACE,
                                 .backend_size = sizeof(rb_backend),
                                 .name = "example of tests/plugin",
                                 .version = "1.0",
                                 .variants = variants,
                                 .count = sizeof variants / sizeof *variants};

rb_plugin_entry regbench_plugin;
const rb_plugin *regbench_plugin(void) { return &plugin; }
