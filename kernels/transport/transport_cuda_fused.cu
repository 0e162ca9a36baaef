/* SPDX-License-Identifier: BSD-3-Clause */
/* Ours. What depends on velocity and state alone is worked out once a Newton step and kept for all its Hessian
 * products: grad m^j, its values at the feet, and the adjoint's growth factor. A product then is one pass   s^j =
 * -dt/2 ( I[grad m^j](X).I[vt](X) + grad m^{j+1}.vt )   for all steps together, steps - 1  mt <- I[mt](X) + s^j,
 *   steps      l <- I[l](X) growth, the last one together with b = sum_j w_j l^j grad m^j.
 * FUSED_LAUNCH notes the passes over memory that each takes. Trilinear values are gathered in the
 * kernels themselves; a cubic basis is evaluated by the interp family before them. Memory: 7 steps + 5 fields more.
 */
#include "kernels/base/profile.h"
#include "kernels/transport/transport_composed.h"
#include "kernels/transport/transport_fused_kernels.cuh"

#include <stdlib.h>

typedef struct {
  rb_composed base;
  int linear, has_gradients, has_values, has_growth; /* linear: trilinear basis; has_: kept since the last v, m0 */
  float *gradients;                                  /* [steps + 1][3][N] grad m^j */
  float *values;                                     /* [steps][3][N] I[grad m^j](X), state feet */
  float *growth;                                     /* [N] */
  float *series;                                     /* [steps + 1][N]: s^j, then l^j */
} fused;

static rb_status supports(const rb_transport_desc *d) {
  if (d->dtype != RB_F32) return RB_FAIL(RB_EUNSUPPORTED, "the CUDA variants are float32 only");
  if (rb_grid_points(d->grid) >= (int64_t)1 << 31)
    return RB_FAIL(RB_EUNSUPPORTED, "offsets are 32 bits here: below 2^31 points");
  if (d->grid.n[1] > RB_MOST_BLOCKS_YZ * ROWS || d->grid.n[0] > RB_MOST_BLOCKS_YZ * PLANES)
    return RB_FAIL(RB_EUNSUPPORTED, "cuda/fused ends at %d rows", RB_MOST_BLOCKS_YZ * ROWS);
  return RB_OK;
}

/* ---- the equations ------------------------------------------------------------------------------------ */

static extent extent_of(const fused *p) {
  rb_grid g = p->base.head.desc.grid;
  extent e = {(int)g.n[0], (int)g.n[1], (int)g.n[2], p->base.n};
  return e;
}

/* Launch over the grid's points; fields: passes over memory by the model, in N floats. */
#define FUSED_LAUNCH(p, fields, kernel, ...)                                                       \
  do {                                                                                             \
    rb_grid g_ = (p)->base.head.desc.grid;                                                         \
    dim3 blocks_(rb_blocks(g_.n[2], LANES), rb_blocks(g_.n[1], ROWS), rb_blocks(g_.n[0], PLANES)); \
    RB_TRY(rb_profile_begin((p)->base.head.backend, RB_CLASS_TRANSPORT));                          \
    RB_LAUNCH(kernel, blocks_, dim3(LANES, ROWS), 0, extent_of(p), __VA_ARGS__);                   \
    RB_TRY(rb_profile_end((p)->base.head.backend, 1, (fields)*4.0 * (double)(p)->base.n));         \
  } while (0)

static float *at(float *series, const fused *p, int64_t i) { return series + i * p->base.n; } /* field i */
/* Fields i .. i + components - 1 of a series, for the small kernels. */
static rb_array part(float *series, const fused *p, int64_t i, int components) {
  return rb_composed_view(&p->base, components, at(series, p, i));
}

static rb_status linear_feet(rb_composed *base, int sign, rb_array to) {
  rb_status st = RB_OK;
  fused *p = (fused *)base;
  rb_grid g = base->head.desc.grid;
  double f = sign * base->dt; /* radians to cells, a step */
  float3 scale = make_float3((float)(f / rb_grid_spacing(g, 0)), (float)(f / rb_grid_spacing(g, 1)),
                             (float)(f / rb_grid_spacing(g, 2)));
  FUSED_LAUNCH(p, 6, feet_kernel, scale, (const float *)base->v.data, (float *)to.data);
done:
  return st;
}

static void destroy(rb_transport_plan *head) {
  fused *p = (fused *)head;
  float *arrays[] = {p->gradients, p->values, p->growth, p->series};
  for (int i = 0; i < 4; i++) rb_release(head->backend, arrays[i]);
  rb_composed_close(&p->base);
  free(p);
}

static rb_status plan(const rb_backend *backend, const rb_transport_desc *d, rb_transport_plan **out) {
  rb_status st = RB_OK;
  fused *p = (fused *)calloc(1, sizeof *p);
  size_t steps = (size_t)d->steps, field = (size_t)rb_grid_points(d->grid) * sizeof(float);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  RB_TRY(rb_composed_open(&p->base, backend, d));
  p->linear = d->basis == RB_LINEAR;
  if (p->linear) p->base.feet = linear_feet; /* gathers in the kernel; else the small kernels' way */
  RB_TRY(rb_alloc(backend, 3 * (steps + 1) * field, (void **)&p->gradients));
  RB_TRY(rb_alloc(backend, 3 * steps * field, (void **)&p->values));
  RB_TRY(rb_alloc(backend, field, (void **)&p->growth));
  RB_TRY(rb_alloc(backend, (steps + 1) * field, (void **)&p->series));
  *out = &p->base.head;
  return RB_OK;
done:
  if (p) destroy(&p->base.head);
  return st;
}

static rb_status velocity(rb_transport_plan *head, const void *v) {
  fused *p = (fused *)head;
  p->has_gradients = p->has_values = p->has_growth = 0;
  return rb_composed_velocity(head, v);
}
static rb_status state(rb_transport_plan *head, const void *m0) {
  fused *p = (fused *)head;
  p->has_gradients = p->has_values = 0; /* growth depends on v alone */
  return rb_composed_state(head, m0);
}

static rb_status need_gradients(fused *p) {
  rb_status st = RB_OK;
  if (p->has_gradients) return RB_OK;
  for (int j = 0; j <= p->base.head.desc.steps; j++)
    RB_TRY(rb_gradient(p->base.derivative, rb_array_part(p->base.m, j * p->base.n, p->base.n),
                       part(p->gradients, p, 3 * j, 3)));
  p->has_gradients = 1;
done:
  return st;
}
static rb_status need_values(fused *p) {
  rb_status st = RB_OK;
  if (p->has_values) return RB_OK;
  for (int j = 0; j < p->base.head.desc.steps; j++) {
    if (p->linear)
      FUSED_LAUNCH(p, 9, vector_kernel, (const float *)p->base.state_feet.data, at(p->gradients, p, 3 * j),
                   at(p->values, p, 3 * j));
    else
      RB_TRY(rb_composed_interpolate_vector(&p->base, part(p->gradients, p, 3 * j, 3), p->base.state_feet,
                                            part(p->values, p, 3 * j, 3)));
  }
  p->has_values = 1;
done:
  return st;
}
static rb_status need_growth(fused *p) {
  rb_status st = RB_OK;
  rb_composed *b = &p->base;
  const float *d = (const float *)b->scalar[0].data, *there = (const float *)b->scalar[1].data,
              *x = (const float *)b->adjoint_feet.data;
  if (p->has_growth) return RB_OK;
  RB_TRY(rb_divergence(b->derivative, b->v, b->scalar[0]));
  if (p->linear) {
    FUSED_LAUNCH(p, 5, growth_kernel<1>, (float)b->dt, x, d, there, p->growth);
  } else {
    RB_TRY(rb_composed_interpolate(b, b->scalar[0], b->adjoint_feet, b->scalar[1]));
    FUSED_LAUNCH(p, 3, growth_kernel<0>, (float)b->dt, x, d, there, p->growth);
  }
  p->has_growth = 1;
done:
  return st;
}

static rb_status adjoint(rb_transport_plan *head, void *lambda, void *b) {
  rb_status st = RB_OK;
  fused *p = (fused *)head;
  rb_composed *base = &p->base;
  const int steps = head->desc.steps; /* series: l^j at j, from l^steps = lambda down to l^1 */
  const float *x = (const float *)base->adjoint_feet.data, *there = (const float *)base->scalar[1].data;
  if (!base->v.data) return rb_composed_adjoint(head, lambda, b); /* v = 0: exact */
  RB_TRY(rb_composed_need_adjoint_feet(base));
  RB_TRY(need_gradients(p));
  RB_TRY(need_growth(p));
  RB_TRY(rb_field_combine(base->field, base->n, 1, rb_composed_view(base, 1, lambda), 0, rb_array_none(), 0,
                          part(p->series, p, steps, 1)));
  for (int j = steps - 1; j >= 0; j--) {
    float *from = at(p->series, p, j + 1), *to = at(p->series, p, j);
    if (!p->linear)
      RB_TRY(rb_composed_interpolate(base, rb_composed_view(base, 1, from), base->adjoint_feet, base->scalar[1]));
    if (j > 0 && p->linear) FUSED_LAUNCH(p, 6, (step_kernel<1, 1>), x, from, there, p->growth, to);
    if (j > 0 && !p->linear) FUSED_LAUNCH(p, 3, (step_kernel<0, 1>), x, from, there, p->growth, to);
  }
  if (p->linear)
    FUSED_LAUNCH(p, 4 * steps + 11, force_kernel<1>, steps, (float)base->dt, x, p->series, there, p->growth,
                 p->gradients, (float *)b);
  else
    FUSED_LAUNCH(p, 4 * steps + 8, force_kernel<0>, steps, (float)base->dt, x, p->series, there, p->growth,
                 p->gradients, (float *)b);
done:
  return st;
}

static rb_status incremental(rb_transport_plan *head, const void *vt, void *mt) {
  rb_status st = RB_OK;
  fused *p = (fused *)head;
  rb_composed *base = &p->base;
  const int steps = head->desc.steps; /* series: s^j at j, then mt^{j+1} in its place */
  const float *x = (const float *)base->state_feet.data, *there = (const float *)base->scalar[1].data;
  if (!base->v.data) return rb_composed_incremental(head, vt, mt); /* v = 0 */
  RB_TRY(rb_composed_need_state_feet(base));
  RB_TRY(need_gradients(p));
  RB_TRY(need_values(p));
  if (p->linear) {
    FUSED_LAUNCH(p, 7 * steps + 6, sources_kernel<1>, steps, (float)base->dt / 2, x, (const float *)vt,
                 (const float *)base->vector.data, p->gradients, p->values, p->series);
  } else {
    RB_TRY(rb_composed_interpolate_vector(base, rb_composed_view(base, 3, vt), base->state_feet, base->vector));
    FUSED_LAUNCH(p, 7 * steps + 6, sources_kernel<0>, steps, (float)base->dt / 2, x, (const float *)vt,
                 (const float *)base->vector.data, p->gradients, p->values, p->series);
  }
  for (int j = 1; j < steps; j++) {
    float *from = at(p->series, p, j - 1), *s = at(p->series, p, j), *to = j == steps - 1 ? (float *)mt : s;
    if (p->linear) {
      FUSED_LAUNCH(p, 6, (step_kernel<1, 0>), x, from, there, s, to);
    } else {
      RB_TRY(rb_composed_interpolate(base, rb_composed_view(base, 1, from), base->state_feet, base->scalar[1]));
      FUSED_LAUNCH(p, 3, (step_kernel<0, 0>), x, from, there, s, to);
    }
  }
  if (steps == 1) /* mt(1) = s^0 */
    RB_TRY(rb_field_combine(base->field, base->n, 1, part(p->series, p, 0, 1), 0, rb_array_none(), 0,
                            rb_composed_view(base, 1, mt)));
done:
  return st;
}

extern "C" const rb_transport_ops rb_transport_fused = {
    supports,
    plan,
    velocity,
    state,
    rb_composed_history,
    adjoint,
    incremental,
    rb_composed_advect,
    rb_composed_jacobian,
    rb_composed_map,
    destroy,
    20, /* as composed, and five of scratch */
    8,  /* the history, its gradient, its values at the feet, the series */
    0,
};
