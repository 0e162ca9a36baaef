/* SPDX-License-Identifier: BSD-3-Clause */
/* Variants of log-demons, an iteration, the solve, and its set-up. Kernels are those of smooth, compose and force. */
#include "kernels/base/clock.h"
#include "solvers/demons/demons_impl.h"
#include "solvers/common/field_variant.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const rb_demons_config cpu = {"cpu/omp", "cpu/omp", "cpu/omp", RB_F32},
                              cpu_f64 = {"cpu/omp", "cpu/omp", "cpu/omp", RB_F64};
static const rb_demons_config cpu_naive = {"cpu/naive", "cpu/naive", "cpu/naive", RB_F32};
static const rb_demons_config gpu_a1_b1 = {"cuda/naive", "cuda/global", "cuda/grid", RB_F32},
                              gpu_a3_b4 = {"cuda/shared-coalesced", "cuda/texture-linear4", "cuda/grid", RB_F32};
static const rb_demons_config gpu_a3_b1 = {"cuda/shared-coalesced", "cuda/global", "cuda/grid", RB_F32},
                              gpu_a1_b4 = {"cuda/naive", "cuda/texture-linear4", "cuda/grid", RB_F32};
static const rb_demons_config fused = {"cuda/march", "cuda/planar", "cuda/grid", RB_F32};
static const rb_variant variants[] = {
    {"cpu-naive", "CPU", "float32, one thread, as the paper's CPU code", RB_ON_CPU(&cpu_naive)},
    {"cpu", "", "float32, all cores", RB_ON_CPU(&cpu)},
    {"cpu-f64", "", "float64, all cores", RB_ON_CPU(&cpu_f64)},
    {"gpu-a1-b1", "", "the paper's naive GPU kernels", RB_ON_CUDA(&gpu_a1_b1)},
    {"gpu-a3-b1", "", "the paper's smoothing, naive composition", RB_ON_CUDA(&gpu_a3_b1)},
    {"gpu-a1-b4", "", "naive smoothing, the paper's composition", RB_ON_CUDA(&gpu_a1_b4)},
    {"gpu-a3-b4", "GPU",
     "the paper's optimised GPU kernels: coalesced shared-memory smoothing, float4 textures with 8-bit weights",
     RB_ON_CUDA(&gpu_a3_b4)},
    {"gpu-fused", "", "ours: smoothing of all axes in one kernel, composition in float32 without textures",
     RB_ON_CUDA(&fused)},
};
const rb_family rb_demons_family = {
    .name = "demons",
    .what = "diffeomorphic log-demons registration (demons2020)",
    .variants = variants,
    .count = sizeof variants / sizeof *variants,
};

rb_demons_options rb_demons_defaults(void) {
  return (rb_demons_options){.sigma_fluid = 3,
                             .sigma_diffusion = 2,
                             .sigma_i = 1,
                             .sigma_x = 1,
                             .padding = 1.2,
                             .iterations = 75,
                             .stop = 0.004};
}
static const char *const update_names[] = {"sum", "bch", "compose"};
const char *rb_demons_update_name(rb_demons_update u) { return update_names[u]; }
rb_status rb_demons_update_parse(const char *name, rb_demons_update *out) {
  for (int k = 0; k < 3; k++)
    if (strcmp(name, update_names[k]) == 0) {
      *out = (rb_demons_update)k;
      return RB_OK;
    }
  return RB_FAIL(RB_EINVAL, "unknown update '%s': sum, bch, compose", name);
}

/* ---- an iteration ---------------------------------------------------------------------------------------- */

static rb_status longest(rb_demons *s, rb_array field, double *out) {
  rb_status st = RB_OK;
  RB_TRY(rb_compose_longest(s->compose, field, out));
  RB_CHECK(isfinite(*out), RB_EINVALID, "a displacement is not finite");
done:
  return st;
}

/* Planned where it is needed first: a plan on the GPU pins host memory, which takes 0.6 ms, and where updates are
 * composed only velocities of less than half a voxel need it. */
static rb_status plan_field(rb_demons *s) {
  rb_status st = RB_OK;
  const rb_field_desc field = {.count = 3 * s->n, .dtype = s->config->dtype};
  if (!s->field) RB_TRY(rb_field_create(rb_field_variant(s->backend->kind), &field, &s->field));
done:
  return st;
}
rb_status rb_demons_combine(rb_demons *s, double a, rb_array x, double b, rb_array y, double c, rb_array z) {
  rb_status st = RB_OK;
  RB_TRY(plan_field(s));
  RB_TRY(rb_field_combine(s->field, 3 * s->n, a, x, b, y, c, z));
done:
  return st;
}

/* No velocity and no displacement. */
static rb_status set_identity(rb_demons *s) {
  rb_status st = RB_OK;
  RB_TRY(rb_array_fill(s->velocity, 0)); /* exp(0) = identity */
  RB_TRY(rb_array_fill(s->displacement, 0));
  s->squarings = -1;
done:
  return st;
}

/* displacement = exp(a v): v / 2^N stands for its own exponential; N compositions with itself follow, the first of
 * which takes the scaled velocity as it is. */
static rb_status scale_and_square(rb_demons *s, double a, int squarings) {
  rb_status st = RB_OK;
  if (squarings == 0)
    RB_TRY(rb_demons_combine(s, a, s->velocity, 0, rb_array_none(), 0, s->displacement));
  else
    RB_TRY(rb_compose(s->compose, ldexp(a, -squarings), s->velocity, s->velocity, s->displacement));
  for (int k = 1; k < squarings; k++) {
    RB_TRY(rb_compose(s->compose, 1, s->displacement, s->displacement, s->spare)); /* doubles the time */
    rb_array_swap(&s->displacement, &s->spare);
  }
done:
  return st;
}

/* The number of squarings seldom changes from one iteration to the next: as many as last time are issued before the
 * greatest length is known, so that the GPU does not wait for the host; where it says otherwise, they are done again.
 */
rb_status rb_demons_exponentiate(rb_demons *s, double a) {
  rb_status st = RB_OK;
  const int guess = s->squarings;
  double most;
  int squarings = 0;
  RB_TRY(rb_compose_longest_begin(s->compose, s->velocity)); /* max |v|, read below */
  if (guess >= 0) RB_TRY(scale_and_square(s, a, guess));     /* queued behind it */
  RB_TRY(rb_compose_longest_end(s->compose, &most));
  RB_CHECK(isfinite(most), RB_EINVALID, "a displacement is not finite");
  for (most *= fmax(1, fabs(a)); most > 0.5; most /= 2) squarings++; /* half a voxel */
  if (squarings != guess) RB_TRY(scale_and_square(s, a, squarings)); /* anew from v, which is unchanged */
  s->squarings = squarings;
done:
  return st;
}

/* Stamps of one iteration lie side by side: part p lasts from stamp p to p + 1. */
static rb_status stamp(const rb_demons *s, int stamp) { return s->profile ? s->backend->stamp(stamp) : RB_OK; }

/* warped = moving o (id + displacement); sum of squared differences over the padded grid into slot `i` of the
 * energies: what is warped into the padding counts as missed. */
static rb_status measure_energy(rb_demons *s, int i) {
  rb_status st = RB_OK;
  RB_TRY(rb_compose_warp(s->compose, s->moving, s->displacement, s->warped)); /* M o s */
  RB_TRY(stamp(s, RB_PART_ENERGY));
  RB_TRY(rb_force_energy_kept(s->force, s->fixed, s->warped, rb_array_part(s->energies, i, 1)));
  RB_TRY(stamp(s, RB_DEMONS_PARTS));
done:
  return st;
}

/* Slots first .. last of the energies, by the images' own number of voxels, to the result: slot 0 is before the first
 * iteration. */
static rb_status read_energies(rb_demons *s, int first, int last, rb_demons_result *out) {
  rb_status st = RB_OK;
  RB_TRY(rb_array_download(rb_array_part(s->energies, first, last - first + 1), s->room));
  for (int i = first; i <= last; i++)
    *(i ? &out->energy[i - 1] : &out->before) = s->room[i - first] / (double)s->points; /* own voxels */
  out->after = last ? out->energy[last - 1] : out->before;
done:
  return st;
}

/* velocity = update(velocity, spare) */
static rb_status update_velocity(rb_demons *s) {
  rb_status st = RB_OK;
  switch (s->options.update) {
    case RB_UPDATE_BCH:
      RB_TRY(rb_compose_bracket(s->compose, s->velocity, s->spare, s->update));  /* [v, u] */
      RB_TRY(rb_demons_combine(s, 0.5, s->update, 1, s->spare, 1, s->velocity)); /* v + u + [v, u] / 2 */
      break;
    case RB_UPDATE_COMPOSE:
      RB_TRY(rb_compose(s->compose, 1, s->spare, s->velocity, s->update)); /* (id + u) o (id + v) - id */
      rb_array_swap(&s->velocity, &s->update);
      break;
    default:
      RB_TRY(rb_demons_combine(s, 1, s->spare, 0, rb_array_none(), 1, s->velocity)); /* v + u */
  }
done:
  return st;
}

/* An iteration of Algorithm 1 of demons2020 up to the exponential. The warp is part of measure_energy, so that the
 * energy after an iteration is that of the image that the next force reads. */
static rb_status iterate(rb_demons *s) {
  rb_status st = RB_OK;
  RB_TRY(stamp(s, RB_PART_FORCE));
  RB_TRY(rb_force(s->force, s->options.sigma_i / s->options.sigma_x, s->fixed, s->warped, s->update)); /* u */
  RB_TRY(stamp(s, RB_PART_FLUID));
  RB_TRY(rb_smooth(s->smooth, s->options.sigma_fluid, s->update, s->spare)); /* K_fluid * u, in spare */
  RB_TRY(stamp(s, RB_PART_UPDATE));
  RB_TRY(update_velocity(s));
  RB_TRY(stamp(s, RB_PART_DIFFUSION));
  RB_TRY(rb_smooth(s->smooth, s->options.sigma_diffusion, s->velocity, s->spare)); /* K_diffusion * v */
  rb_array_swap(&s->velocity, &s->spare);
  RB_TRY(stamp(s, RB_PART_EXPONENTIAL));
  RB_TRY(rb_demons_exponentiate(s, 1));
  RB_TRY(stamp(s, RB_PART_WARP));
done:
  return st;
}

static rb_status add_parts(const rb_demons *s, double parts[RB_DEMONS_PARTS]) {
  rb_status st = RB_OK;
  double seconds;
  for (int p = 0; s->profile && p < RB_DEMONS_PARTS; p++) {
    RB_TRY(s->backend->stamp_interval(p, p + 1, &seconds));
    parts[p] += seconds;
  }
done:
  return st;
}

rb_status rb_demons_solve(rb_demons *s, rb_demons_hook hook, void *context, rb_demons_result *out) {
  rb_status st = RB_OK;
  *out = (rb_demons_result){.end = RB_END_ITERATIONS, .setup_seconds = s->setup_seconds};
  RB_TRY(s->backend->sync());
  const double started = rb_now();
  if (s->started)
    RB_TRY(rb_demons_exponentiate(s, 1));
  else
    RB_TRY(set_identity(s));
  s->started = 0;
  RB_TRY(measure_energy(s, 0));
  /* whoever looks at energies on the way waits for each; else they are read at the end */
  const int watched = hook != NULL || s->options.stop > 0 || s->profile;
  int unread = 0; /* first slot of the energies that is not on the host */
  for (int it = 0; it < s->options.iterations; it++) {
    if (s->options.interrupted && *s->options.interrupted) {
      out->end = RB_END_INTERRUPTED;
      break;
    }
    RB_TRY(iterate(s));
    RB_TRY(measure_energy(s, it + 1));
    out->iterations = it + 1;
    if (!watched) continue;
    RB_TRY(read_energies(s, unread, it + 1, out));
    unread = it + 2;
    RB_TRY(add_parts(s, out->parts)); /* waits for the stamps, which the next iteration sets anew */
    if (hook) {
      RB_TRY(longest(s, s->displacement, &out->longest));
      hook(context, it + 1, out->after, out->longest);
    }
    if (s->options.stop > 0 && it >= 5 && out->energy[it - 5] - out->energy[it] <= s->options.stop * out->energy[0]) {
      out->end = RB_END_CONVERGED;
      break;
    }
  }
  if (unread <= out->iterations) RB_TRY(read_energies(s, unread, out->iterations, out)); /* nobody watched */
  RB_TRY(longest(s, s->displacement, &out->longest));
  RB_TRY(s->backend->sync());
  out->seconds = rb_now() - started;
done:
  return st;
}

/* ---- set-up ---------------------------------------------------------------------------------------------- */

static rb_status check_options(const rb_demons_options *o) {
  rb_status st = RB_OK;
  const double positive[] = {o->sigma_i, o->sigma_x};
  const double smoothing[] = {o->sigma_fluid, o->sigma_diffusion};
  for (int k = 0; k < 2; k++) {
    RB_CHECK(positive[k] > 0 && isfinite(positive[k]), RB_EINVAL, "%s is %g; it must be positive",
             k ? "sigma_x" : "sigma_i", positive[k]);
    RB_CHECK(smoothing[k] >= 0 && smoothing[k] <= RB_MOST_AXIS, RB_EINVAL, "%s is %g voxels; 0 to 2^20 work",
             k ? "sigma_diffusion" : "sigma_fluid", smoothing[k]);
  }
  RB_CHECK(o->padding >= 1 && o->padding <= 4, RB_EINVAL, "padding is %g; 1 to 4 work", o->padding);
  RB_CHECK(o->iterations >= 1 && o->iterations <= RB_DEMONS_ROWS, RB_EINVAL, "%d iterations; 1 to %d work",
           o->iterations, RB_DEMONS_ROWS);
  RB_CHECK(o->stop >= 0 && o->stop < 1, RB_EINVAL, "stop is %g; 0 up to 1 work", o->stop);
done:
  return st;
}

static rb_smooth_desc smoothing(const rb_demons_options *o, const rb_demons_config *c, rb_grid grid) {
  return (rb_smooth_desc){
      .grid = grid, .components = 3, .dtype = c->dtype, .sigma = fmax(o->sigma_fluid, o->sigma_diffusion)};
}
static rb_status plan_kernels(rb_demons *s) {
  rb_status st = RB_OK;
  const rb_variant *v;
  const rb_smooth_desc smooth = smoothing(&s->options, s->config, s->grid);
  const rb_compose_desc compose = {.grid = s->grid, .dtype = s->config->dtype};
  const rb_force_desc force = {.grid = s->grid, .dtype = s->config->dtype};
  RB_TRY(rb_variant_find(&rb_smooth_family, s->config->smooth, &v));
  RB_TRY(rb_smooth_create(v, &smooth, &s->smooth));
  RB_TRY(rb_variant_find(&rb_compose_family, s->config->compose, &v));
  RB_TRY(rb_compose_create(v, &compose, &s->compose));
  RB_TRY(rb_variant_find(&rb_force_family, s->config->force, &v));
  RB_TRY(rb_force_create(v, &force, &s->force));
  if (s->options.update != RB_UPDATE_COMPOSE) RB_TRY(plan_field(s));
done:
  return st;
}

/* Rows of a multiple of four voxels: 16-byte loads. */
static rb_grid padded(const rb_demons_options *o, rb_grid grid) {
  rb_grid g;
  for (int a = 0; a < 3; a++) g.n[a] = (int64_t)ceil(o->padding * (double)grid.n[a] - 1e-9); /* whole products stay */
  if (o->padding > 1) g.n[2] = (g.n[2] + 3) / 4 * 4;
  return g;
}
rb_status rb_demons_predict(const rb_variant *variant, const rb_demons_options *options, rb_grid grid, size_t *out) {
  rb_status st = RB_OK;
  const rb_demons_config *c = variant->ops;
  const rb_variant *v, *compose;
  *out = 0;
  RB_TRY(check_options(options));
  const rb_smooth_desc smooth = smoothing(options, c, padded(options, grid));
  RB_TRY(rb_variant_find(&rb_smooth_family, c->smooth, &v));
  RB_TRY(rb_smooth_possible(v, &smooth));
  RB_TRY(rb_variant_find(&rb_compose_family, c->compose, &compose));
  /* four vectors, three images; textures where they are used */
  *out = (size_t)rb_grid_points(smooth.grid) * (size_t)(15 + rb_compose_texture_floats(compose)) *
             rb_dtype_size(c->dtype) +
         rb_smooth_workspace(v, &smooth);
done:
  return st;
}
int rb_demons_weight_bits(const rb_variant *variant) {
  const rb_demons_config *c = variant->ops;
  const rb_variant *compose;
  if (!c || rb_variant_find(&rb_compose_family, c->compose, &compose) != RB_OK) return 0;
  return rb_compose_weight_bits(compose);
}
rb_status rb_demons_start(rb_demons *s, const float *velocity) {
  rb_status st = RB_OK;
  s->started = 0;
  for (int c = 0; velocity && c < 3; c++)
    RB_TRY(rb_demons_upload(s, velocity + c * s->points, rb_demons_component(s, s->velocity, c)));
  s->started = velocity != NULL;
done:
  return st;
}
void rb_demons_set_profile(rb_demons *s, int on) { s->profile = on; }
double rb_demons_setup_seconds(const rb_demons *s) { return s->setup_seconds; }

/* All arrays in one block: asking for memory is what a set-up of a small pair mostly does. */
static rb_status reserve(rb_demons *s) {
  rb_status st = RB_OK;
  enum { BOUNDARY = 256 }; /* bytes */
  rb_array *arrays[] = {&s->velocity, &s->update, &s->displacement, &s->spare,
                        &s->fixed,    &s->moving, &s->warped,       &s->energies};
  size_t at[8], end = 0; /* offsets in the block */
  for (int k = 0; k < 8; k++) {
    const int64_t count = k < 4 ? 3 * s->n : k < 7 ? s->n : 1 + s->options.iterations;
    *arrays[k] = rb_array_view(s->backend, k < 7 ? s->config->dtype : RB_F64, count, NULL); /* energies: float64 */
    at[k] = end;
    end += (rb_array_bytes(*arrays[k]) + BOUNDARY - 1) / BOUNDARY * BOUNDARY;
  }
  RB_TRY(rb_alloc(s->backend, end, &s->memory));
  for (int k = 0; k < 8; k++) arrays[k]->data = (char *)s->memory + at[k];
done:
  return st;
}

rb_status rb_demons_create(const rb_variant *variant, const rb_demons_options *options, rb_grid grid,
                           const float *template_image, const float *reference, rb_demons **out) {
  rb_status st = RB_OK;
  const double started = rb_now();
  rb_demons *s = NULL;
  *out = NULL;
  RB_TRY(check_options(options));
  RB_TRY(rb_variant_available(variant));
  s = calloc(1, sizeof *s);
  RB_CHECK(s, RB_ENOMEM, "host memory");
  s->config = variant->ops, s->options = *options, s->own = grid, s->squarings = -1; /* -1: no guess */
  s->grid = padded(options, grid);
  s->n = rb_grid_points(s->grid), s->points = rb_grid_points(grid);
  RB_TRY(rb_backend_get(variant->backend, &s->backend));
  RB_TRY(plan_kernels(s));
  RB_TRY(reserve(s));
  s->room = calloc(1 + (size_t)options->iterations, sizeof *s->room); /* slot 0: before */
  RB_CHECK(s->room, RB_ENOMEM, "host memory");
  RB_TRY(rb_demons_upload(s, reference, s->fixed));
  RB_TRY(rb_demons_upload(s, template_image, s->moving));
  RB_TRY(set_identity(s));
  RB_TRY(s->backend->sync());
  s->setup_seconds = rb_now() - started;
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
  if (s->backend) rb_release(s->backend, s->memory);
  free(s->room);
  free(s);
}
