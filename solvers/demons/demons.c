#include "solvers/demons/demons.h"

#include "kernels/compose/compose.h"
#include "kernels/field/field.h"
#include "kernels/force/force.h"
#include "kernels/smooth/smooth.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct rb_demons {
  const rb_backend *backend;
  const rb_demons_config *config;
  rb_demons_options options;
  rb_grid own, grid; /* the images', and padded */
  int64_t n, points; /* of grid, of own */
  rb_smooth_plan *smooth;
  rb_compose_plan *compose;
  rb_force_plan *force;
  rb_field_plan *field;
  void *velocity, *update, *displacement, *spare; /* [3][n] */
  void *fixed, *moving, *warped, *square;         /* [n] */
  double setup_seconds;
};

static const rb_demons_config cpu = {"cpu/omp", "cpu/omp", "cpu/omp", RB_F32}, cpu_f64 = {"cpu/omp", "cpu/omp", "cpu/omp", RB_F64};
static const rb_demons_config cpu_naive = {"cpu/naive", "cpu/naive", "cpu/omp", RB_F32};
static const rb_variant variants[] = {
    {"cpu-naive", "CPU", "float32, smoothing and composition on one thread, as the paper's CPU code", RB_CPU, &cpu_naive},
    {"cpu", "", "float32, all cores", RB_CPU, &cpu},
    {"cpu-f64", "", "float64, all cores", RB_CPU, &cpu_f64},
};
const rb_family rb_demons_family = {
    .name = "demons",
    .what = "diffeomorphic log-demons registration (demons2020)",
    .variants = variants,
    .count = sizeof variants / sizeof *variants,
};

rb_demons_options rb_demons_defaults(void) {
  return (rb_demons_options){.sigma_fluid = 3, .sigma_diffusion = 2, .sigma_i = 1, .sigma_x = 1, .padding = 1.2, .iterations = 75, .stop = 0.004};
}
const char *rb_demons_end_name(rb_demons_end e) {
  static const char *const names[] = {"iterations used up", "converged", "interrupted"};
  return names[e];
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static size_t value_size(const rb_demons *s) { return rb_dtype_size(s->config->dtype); }
static char *component(const rb_demons *s, void *field, int c) { return (char *)field + (size_t)c * (size_t)s->n * value_size(s); }

/* ---- between the images' own grid and the padded one ---------------------------------------------------- */

/* Index in the padded grid of a row's first voxel. */
static int64_t row_in_padded(const rb_demons *s, int64_t i1, int64_t i2) {
  const int64_t shift[3] = {(s->grid.n[0] - s->own.n[0]) / 2, (s->grid.n[1] - s->own.n[1]) / 2, (s->grid.n[2] - s->own.n[2]) / 2};
  return ((i1 + shift[0]) * s->grid.n[1] + i2 + shift[1]) * s->grid.n[2] + shift[2];
}

static rb_status upload(const rb_demons *s, const float *image, void *to) {
  rb_status st = RB_OK;
  char *wide = calloc((size_t)s->n, value_size(s));
  RB_CHECK(wide, RB_ENOMEM, "host memory");
  for (int64_t i1 = 0; i1 < s->own.n[0]; i1++)
    for (int64_t i2 = 0; i2 < s->own.n[1]; i2++) {
      const int64_t at = row_in_padded(s, i1, i2);
      const float *row = image + (i1 * s->own.n[1] + i2) * s->own.n[2];
      for (int64_t k = 0; k < s->own.n[2]; k++) {
        if (s->config->dtype == RB_F64) ((double *)wide)[at + k] = (double)row[k];
        else ((float *)wide)[at + k] = row[k];
      }
    }
  RB_TRY(s->backend->upload(to, wide, (size_t)s->n * value_size(s)));
done:
  free(wide);
  return st;
}
static rb_status download(const rb_demons *s, const void *from, int components, float *out) {
  rb_status st = RB_OK;
  const size_t one = (size_t)s->n * value_size(s);
  char *wide = malloc(one);
  RB_CHECK(wide, RB_ENOMEM, "host memory");
  for (int c = 0; c < components; c++) {
    RB_TRY(s->backend->download(wide, (const char *)from + (size_t)c * one, one));
    for (int64_t i1 = 0; i1 < s->own.n[0]; i1++)
      for (int64_t i2 = 0; i2 < s->own.n[1]; i2++) {
        const int64_t at = row_in_padded(s, i1, i2);
        float *row = out + c * s->points + (i1 * s->own.n[1] + i2) * s->own.n[2];
        for (int64_t k = 0; k < s->own.n[2]; k++) row[k] = s->config->dtype == RB_F64 ? (float)((double *)wide)[at + k] : ((float *)wide)[at + k];
      }
  }
done:
  free(wide);
  return st;
}

/* ---- an iteration ---------------------------------------------------------------------------------------- */

/* Greatest length of a vector of the field. */
static rb_status longest(rb_demons *s, void *field, double *out) {
  rb_status st = RB_OK;
  rb_extremes e;
  for (int c = 0; c < 3; c++) RB_TRY(rb_field_multiply(s->field, s->n, 1, component(s, field, c), component(s, field, c), c ? 1 : 0, s->square));
  RB_TRY(rb_field_extremes(s->field, s->n, s->square, &e));
  RB_CHECK(isfinite(e.greatest), RB_EINVALID, "a displacement is not finite");
  *out = sqrt(e.greatest);
done:
  return st;
}

static void swap(void **a, void **b) {
  void *t = *a;
  *a = *b, *b = t;
}

/* displacement = exp(a velocity), in as many steps as exp(velocity) needs, more where |a| > 1; `spare` is overwritten. */
static rb_status exponential(rb_demons *s, double a) {
  rb_status st = RB_OK;
  double most;
  int squarings = 0;
  RB_TRY(longest(s, s->velocity, &most));
  for (most *= fmax(1, fabs(a)); most > 0.5; most /= 2) squarings++;
  RB_TRY(rb_field_combine(s->field, 3 * s->n, ldexp(a, -squarings), s->velocity, 0, NULL, 0, s->displacement));
  for (int k = 0; k < squarings; k++) {
    RB_TRY(rb_compose(s->compose, s->displacement, s->displacement, s->spare));
    swap(&s->displacement, &s->spare);
  }
done:
  return st;
}

/* warped = moving o (id + displacement); sum of squared differences over the padded grid by the images' own
 * number of voxels: what is warped into the padding counts as missed. */
static rb_status compare(rb_demons *s, double *energy) {
  rb_status st = RB_OK;
  RB_TRY(rb_compose_warp(s->compose, s->moving, s->displacement, s->warped));
  RB_TRY(rb_field_combine(s->field, s->n, 1, s->fixed, -1, s->warped, 0, s->square));
  RB_TRY(rb_field_dot(s->field, s->n, s->square, s->square, energy));
  *energy /= (double)s->points;
done:
  return st;
}

static rb_status iterate(rb_demons *s) {
  rb_status st = RB_OK;
  RB_TRY(rb_force(s->force, s->options.sigma_i / s->options.sigma_x, s->fixed, s->warped, s->update));
  RB_TRY(rb_smooth(s->smooth, s->options.sigma_fluid, s->update, s->spare));
  RB_TRY(rb_field_combine(s->field, 3 * s->n, 1, s->spare, 0, NULL, 1, s->velocity));
  RB_TRY(rb_smooth(s->smooth, s->options.sigma_diffusion, s->velocity, s->spare));
  swap(&s->velocity, &s->spare);
  RB_TRY(exponential(s, 1));
done:
  return st;
}

rb_status rb_demons_solve(rb_demons *s, rb_demons_hook hook, void *context, rb_demons_result *out) {
  rb_status st = RB_OK;
  *out = (rb_demons_result){.end = RB_DEMONS_ITERATIONS, .setup_seconds = s->setup_seconds};
  RB_TRY(rb_field_fill(s->field, 3 * s->n, 0, s->velocity));
  RB_TRY(rb_field_fill(s->field, 3 * s->n, 0, s->displacement));
  RB_TRY(s->backend->sync());
  const double started = now();
  RB_TRY(compare(s, &out->before));
  out->after = out->before;
  for (int it = 0; it < s->options.iterations; it++) {
    if (s->options.interrupted && *s->options.interrupted) {
      out->end = RB_DEMONS_INTERRUPTED;
      break;
    }
    RB_TRY(iterate(s));
    RB_TRY(compare(s, &out->energy[it]));
    out->after = out->energy[it], out->iterations = it + 1;
    if (hook) {
      RB_TRY(longest(s, s->displacement, &out->longest));
      hook(context, it + 1, out->after, out->longest);
    }
    if (s->options.stop > 0 && it >= 5 && out->energy[it - 5] - out->energy[it] < s->options.stop * out->energy[0]) {
      out->end = RB_DEMONS_CONVERGED;
      break;
    }
  }
  RB_TRY(longest(s, s->displacement, &out->longest));
  RB_TRY(s->backend->sync());
  out->seconds = now() - started;
done:
  return st;
}

/* ---- set-up ---------------------------------------------------------------------------------------------- */

static rb_status check_options(const rb_demons_options *o) {
  rb_status st = RB_OK;
  const double positive[] = {o->sigma_i, o->sigma_x};
  const double smoothing[] = {o->sigma_fluid, o->sigma_diffusion};
  for (int k = 0; k < 2; k++) {
    RB_CHECK(positive[k] > 0 && isfinite(positive[k]), RB_EINVAL, "%s is %g; it must be positive", k ? "sigma_x" : "sigma_i", positive[k]);
    RB_CHECK(smoothing[k] >= 0 && 3 * smoothing[k] <= RB_SMOOTH_RADIUS, RB_EINVAL, "%s is %g voxels; 0 to %g work", k ? "sigma_diffusion" : "sigma_fluid", smoothing[k],
             RB_SMOOTH_RADIUS / 3.0);
  }
  RB_CHECK(o->padding >= 1 && o->padding <= 4, RB_EINVAL, "padding is %g; 1 to 4 work", o->padding);
  RB_CHECK(o->iterations >= 1 && o->iterations <= RB_DEMONS_ROWS, RB_EINVAL, "%d iterations; 1 to %d work", o->iterations, RB_DEMONS_ROWS);
  RB_CHECK(o->stop >= 0 && o->stop < 1, RB_EINVAL, "stop is %g; 0 up to 1 work", o->stop);
done:
  return st;
}

static rb_status plan_kernels(rb_demons *s) {
  rb_status st = RB_OK;
  const rb_variant *v;
  const rb_smooth_desc smooth = {.grid = s->grid, .components = 3, .dtype = s->config->dtype};
  const rb_compose_desc compose = {.grid = s->grid, .dtype = s->config->dtype};
  const rb_force_desc force = {.grid = s->grid, .dtype = s->config->dtype};
  const rb_field_desc field = {.count = 3 * s->n, .dtype = s->config->dtype};
  RB_TRY(rb_variant_find(&rb_smooth_family, s->config->smooth, &v));
  RB_TRY(rb_smooth_create(v, &smooth, &s->smooth));
  RB_TRY(rb_variant_find(&rb_compose_family, s->config->compose, &v));
  RB_TRY(rb_compose_create(v, &compose, &s->compose));
  RB_TRY(rb_variant_find(&rb_force_family, s->config->force, &v));
  RB_TRY(rb_force_create(v, &force, &s->force));
  RB_TRY(rb_field_create(rb_field_variant(s->backend->kind), &field, &s->field));
done:
  return st;
}

rb_status rb_demons_create(const rb_variant *variant, const rb_demons_options *options, rb_grid grid, const float *template_image,
                           const float *reference, rb_demons **out) {
  rb_status st = RB_OK;
  const double started = now();
  rb_demons *s = NULL;
  *out = NULL;
  RB_TRY(check_options(options));
  RB_TRY(rb_variant_available(variant));
  s = calloc(1, sizeof *s);
  RB_CHECK(s, RB_ENOMEM, "host memory");
  s->config = variant->ops, s->options = *options, s->own = grid;
  for (int a = 0; a < 3; a++) s->grid.n[a] = (int64_t)ceil(options->padding * (double)grid.n[a] - 1e-9);
  s->n = rb_grid_points(s->grid), s->points = rb_grid_points(grid);
  RB_TRY(rb_backend_get(variant->backend, &s->backend));
  RB_TRY(plan_kernels(s));
  void **vectors[] = {&s->velocity, &s->update, &s->displacement, &s->spare}, **scalars[] = {&s->fixed, &s->moving, &s->warped, &s->square};
  for (int k = 0; k < 4; k++) {
    RB_TRY(rb_alloc(s->backend, 3 * (size_t)s->n * value_size(s), vectors[k]));
    RB_TRY(rb_alloc(s->backend, (size_t)s->n * value_size(s), scalars[k]));
  }
  RB_TRY(upload(s, reference, s->fixed));
  RB_TRY(upload(s, template_image, s->moving));
  RB_TRY(rb_field_fill(s->field, 3 * s->n, 0, s->velocity));
  RB_TRY(rb_field_fill(s->field, 3 * s->n, 0, s->displacement));
  RB_TRY(s->backend->sync());
  s->setup_seconds = now() - started;
  *out = s;
  s = NULL;
done:
  rb_demons_destroy(s);
  return st;
}

void rb_demons_destroy(rb_demons *s) {
  if (!s) return;
  rb_smooth_destroy(s->smooth);
  rb_compose_destroy(s->compose);
  rb_force_destroy(s->force);
  rb_field_destroy(s->field);
  void *arrays[] = {s->velocity, s->update, s->displacement, s->spare, s->fixed, s->moving, s->warped, s->square};
  for (size_t i = 0; s->backend && i < sizeof arrays / sizeof *arrays; i++) rb_release(s->backend, arrays[i]);
  free(s);
}

/* ---- results --------------------------------------------------------------------------------------------- */

rb_status rb_demons_displacement(rb_demons *s, float *out) { return download(s, s->displacement, 3, out); }
rb_status rb_demons_velocity(rb_demons *s, float *out) { return download(s, s->velocity, 3, out); }

rb_status rb_demons_warp(rb_demons *s, const float *image, float *out) {
  rb_status st = RB_OK;
  RB_TRY(upload(s, image, s->square));
  RB_TRY(rb_compose_warp(s->compose, s->square, s->displacement, s->spare));
  RB_TRY(download(s, s->spare, 1, out));
done:
  return st;
}
rb_status rb_demons_determinant(rb_demons *s, float *out) {
  rb_status st = RB_OK;
  RB_TRY(rb_compose_determinant(s->compose, s->displacement, s->spare));
  RB_TRY(download(s, s->spare, 1, out));
done:
  return st;
}
rb_status rb_demons_exponential(rb_demons *s, double a, int after_inverse, float *out) {
  rb_status st = RB_OK;
  if (after_inverse) {
    RB_TRY(exponential(s, a));
    RB_TRY(rb_field_combine(s->field, 3 * s->n, 1, s->displacement, 0, NULL, 0, s->update));
    RB_TRY(exponential(s, -a));
    RB_TRY(rb_compose(s->compose, s->update, s->displacement, s->spare));
    RB_TRY(download(s, s->spare, 3, out));
  } else {
    RB_TRY(exponential(s, a));
    RB_TRY(download(s, s->displacement, 3, out));
  }
  RB_TRY(exponential(s, 1)); /* as it was */
done:
  return st;
}
