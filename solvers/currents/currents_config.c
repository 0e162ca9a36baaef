/* SPDX-License-Identifier: BSD-3-Clause */
/* Variants, options and levels of currents. */
#include "solvers/currents/currents.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Backend, type, then interp, l2force, helmholtz, compose, steps, splat, currents by a mesh, currents by exact sums.
 */
static const rb_currents_config configs[] = {
    {RB_CPU, RB_F32, "cpu/omp", "cpu/omp", "cpu/fftw", "cpu/omp", "cpu/omp", "cpu/omp", "cpu/mesh", "cpu/omp"},
    {RB_CPU, RB_F64, "cpu/omp", "cpu/omp", "cpu/fftw", "cpu/omp", "cpu/omp", "cpu/omp", "cpu/mesh", "cpu/omp"},
    {RB_CUDA, RB_F32, "cuda/march", "cuda/grid", "cuda/axes", "cuda/planar", "cuda/grid", "cuda/fixed64", "cuda/mesh",
     "cuda/culled"},
};
static const rb_variant variants[] = {
    {"cpu", "CPU", "float32, all cores", RB_ON_CPU(&configs[0])},
    {"cpu-f64", "", "float64, all cores: what the others are held to", RB_ON_CPU(&configs[1])},
    {"gpu", "GPU", "splat in whole numbers of 64 bits: the same bits on any run", RB_ON_CUDA(&configs[2])},
};
const rb_family rb_currents_solver_family = {
    .name = "currents",
    .what = "class posteriors and surfaces as currents, by a greedy fluid (ha2012)",
    .variants = variants,
    .count = sizeof variants / sizeof *variants,
};

/* Levels and weights that a prototype found to work on brains at 3 mm; the paper prints none. Wide kernel and long
 * steps first. method counts from the first mesh method, as the option's words do. */
rb_currents_options rb_currents_defaults(void) {
  const rb_currents_options o = {.alpha = 0.01,
                                 .beta = 0,
                                 .gamma = 0.001,
                                 .sigmas = "4,2",
                                 .steps = "0.5,0.25",
                                 .iterations = "100,100",
                                 .image_weight = 1,
                                 .surface_weight = 1,
                                 .method = RB_CURRENTS_CORRECTED - 1};
  return o;
}

/* Numbers between commas. RB_EINVAL for anything else, and for more than there may be levels. */
static rb_status numbers(const char *what, const char *text, double out[RB_CURRENTS_LEVELS], int *count) {
  rb_status st = RB_OK;
  *count = 0;
  for (const char *at = text;;) {
    char *end;
    RB_CHECK(*count < RB_CURRENTS_LEVELS, RB_EINVAL, "--%s '%s': more than %d levels", what, text,
             RB_CURRENTS_LEVELS);
    out[*count] = strtod(at, &end);
    RB_CHECK(end != at && out[*count] > 0 && isfinite(out[*count]) && (*end == ',' || !*end), RB_EINVAL,
             "--%s '%s': positive numbers between commas, one a level", what, text);
    (*count)++;
    if (!*end) break;
    at = end + 1; /* behind the comma */
  }
done:
  return st;
}

/* Level k has the k-th number of each list, the first is worked on first. */
rb_status rb_currents_levels(const rb_currents_options *o, rb_currents_level level[RB_CURRENTS_LEVELS], int *count) {
  rb_status st = RB_OK;
  double sigma[RB_CURRENTS_LEVELS], step[RB_CURRENTS_LEVELS], iterations[RB_CURRENTS_LEVELS];
  int steps, its;
  RB_TRY(numbers("sigmas", o->sigmas, sigma, count));
  RB_TRY(numbers("steps", o->steps, step, &steps));
  RB_TRY(numbers("iterations", o->iterations, iterations, &its));
  RB_CHECK(steps == *count && its == *count, RB_EINVAL,
           "--sigmas has %d levels, --steps %d, --iterations %d: one number each a level", *count, steps, its);
  for (int k = 0; k < *count; k++) {
    RB_CHECK(iterations[k] == floor(iterations[k]) && iterations[k] <= 1e6, RB_EINVAL,
             "--iterations: %g is no whole number up to a million", iterations[k]);
    level[k] = (rb_currents_level){sigma[k], step[k], (int)iterations[k]}; /* voxels, voxels, 1 */
  }
done:
  return st;
}

/* Bytes of the surfaces' sums: a mesh's grid, spectrum and splat sums, and what is held an element. An upper
 * estimate: the mesh with the widest kernel's margin at the narrowest kernel's spacing, over the images' grid, for
 * every surface, though a level has one width: moments, those that stand still, spectrum. 34 values a face and 24 a
 * vertex cover the arrays of surface_match and of the carried surface; on a GPU the sums of a splat are whole numbers
 * of 64 bits, for each mesh, once more while one is made, and once for the images' grid. */
static size_t surface_bytes(const rb_currents_options *o, const rb_currents_config *c, const rb_problem_shape *shape,
                            double widest, double narrowest) {
  const size_t size = rb_dtype_size(c->dtype);
  const double low[3] = {0, 0, 0},
               high[3] = {(double)shape->grid.n[0], (double)shape->grid.n[1], (double)shape->grid.n[2]};
  rb_currents_desc d = {.sigma = widest, .spacing = o->mesh > 0 ? o->mesh * narrowest : 1};
  size_t elements = (size_t)shape->faces * 34 * size + (size_t)shape->vertices * 24 * size;
  if (!shape->surfaces) return 0;
  elements += c->backend == RB_CPU ? (size_t)shape->faces * 4 * sizeof(int32_t)
                                   : 3 * (size_t)rb_grid_points(shape->grid) * sizeof(int64_t);
  if ((o->method + 1) % 4 == RB_CURRENTS_EXACT) return elements + (size_t)shape->faces * 48 * sizeof(float);
  rb_currents_fit_grid(low, high, &d);
  const size_t m = (size_t)rb_grid_points(d.grid);
  return elements +
         (size_t)shape->surfaces * (11 * m * size + (c->backend == RB_CUDA ? 3 * m * (sizeof(int64_t) + size) : 0)) +
         (c->backend == RB_CUDA ? 3 * m * sizeof(int64_t) : 0);
}

/* For the greatest of all levels, as plans of levels replace each other. */
rb_status rb_currents_predict(const rb_variant *v, const rb_currents_options *o, const rb_problem_shape *shape,
                              size_t *backend, size_t *host) {
  rb_status st = RB_OK;
  const rb_currents_config *c = v->ops;
  rb_currents_level level[RB_CURRENTS_LEVELS];
  int count;
  double widest = 0, narrowest = INFINITY;
  const size_t size = rb_dtype_size(c->dtype), n = (size_t)rb_grid_points(shape->grid);
  RB_TRY(rb_currents_levels(o, level, &count));
  for (int k = 0; k < count; k++) widest = fmax(widest, level[k].sigma), narrowest = fmin(narrowest, level[k].sigma);
  /* u, v, force, scratch; posteriors three times; the operator's spectrum and symbols, or cuFFT's room */
  *backend = n * size * (size_t)(3 * shape->channels + 12 + 10) + surface_bytes(o, c, shape, widest, narrowest);
  *host = n * sizeof(float) * (size_t)(shape->channels + 8) + (size_t)shape->vertices * 8 * sizeof(double);
done:
  return st;
}
