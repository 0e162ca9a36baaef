/* SPDX-License-Identifier: BSD-3-Clause */
/* compose: what displacement fields do, trilinear on a voxel grid.
 *
 * compose       out(x) = a s2(x) + a s1(x + a s2(x))     (id + out) = (id + a s1) o (id + a s2)
 * step          out(x) = e s2(x) + s1(x + e s2(x))      e is on the backend: a descent's step
 * warp          out(x) = f(x + s(x))
 * determinant   out(x) = det(I + ds/dx)(x)
 * bracket       out(x) = (dv/dx w - dw/dx v)(x)          Lie bracket [v, w], second term of Baker-Campbell-Hausdorff
 * longest       greatest |s(x)| over the nodes
 * pad, crop     a smaller grid's scalars, centred in this one with zeros around; and back
 *
 * Displacements [3][n1][n2][n3] in voxels, component c along axis c + 1. Fields count as 0 beyond the grid, so that
 * values fade over one voxel outside it, as a texture with a border does. Differences are central, one-sided at the
 * border. Source: demons2020, Algorithm 1 lines 5, 7 and 8; Vercauteren et al. for the bracket. */
#ifndef RB_COMPOSE_H
#define RB_COMPOSE_H

#include "kernels/base/array.h"
#include "kernels/base/variant.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  rb_grid grid;
  rb_dtype dtype;
} rb_compose_desc;

typedef struct rb_compose_plan {
  const rb_variant *variant;
  const rb_backend *backend;
  rb_compose_desc desc;
  double longest; /* what the last `longest` found */
} rb_compose_plan;

typedef struct {
  rb_status (*supports)(const rb_compose_desc *desc);
  rb_status (*plan)(const rb_backend *backend, const rb_compose_desc *desc, rb_compose_plan **out);
  /* Puts a f ([components][n]) where compose and warp read it, instead of their first argument. NULL: they read it
   * where it lies. */
  rb_status (*load)(rb_compose_plan *p, double a, int components, const void *f);
  rb_status (*compose)(rb_compose_plan *p, double a, const void *s1, const void *s2, void *out);
  rb_status (*warp)(rb_compose_plan *p, const void *f, const void *s, void *out);
  rb_status (*determinant)(rb_compose_plan *p, const void *s, void *out);
  rb_status (*bracket)(rb_compose_plan *p, const void *v, const void *w, void *out);
  rb_status (*longest)(rb_compose_plan *p,
                       const void *s); /* begins; leaves p->longest at once where longest_end is NULL */
  rb_status (*longest_end)(rb_compose_plan *p);
  rb_status (*pad)(rb_compose_plan *p, rb_grid inner, const void *f, void *out);
  rb_status (*crop)(rb_compose_plan *p, rb_grid inner, const void *f, void *out);
  void (*destroy)(rb_compose_plan *p);
  int weight_bits;    /* fractional bits of the hardware's weights; 0: as many as the data */
  int texture_floats; /* a voxel, that a plan keeps besides in textures */
  /* warp of planes [begin, end) of axis 1 alone; f is read where it lies. NULL: all at once only. */
  rb_status (*warp_planes)(rb_compose_plan *p, const void *f, const void *s, int64_t begin, int64_t end, void *out);
  /* f, warped: both or neither. NULL: not there. */
  rb_status (*step)(rb_compose_plan *p, const double *e, const void *s1, const void *s2, void *out, const void *f,
                    void *warped);
} rb_compose_ops;

/* The two of a variant; 0 where it is not built. */
int rb_compose_weight_bits(const rb_variant *variant);
int rb_compose_texture_floats(const rb_variant *variant);
/* Whether rb_compose_warp_planes works. */
int rb_compose_warps_planes(const rb_variant *variant);

rb_status rb_compose_create(const rb_variant *variant, const rb_compose_desc *desc, rb_compose_plan **out);
/* out must be neither s1 nor s2; s1 and s2 may be the same. */
rb_status rb_compose(rb_compose_plan *p, double a, rb_array s1, rb_array s2, rb_array out);
/* e: one float64 on the backend, rounded to the data's type when the work runs; e s2 is rounded, too. out must be
 * neither s1 nor s2. With f also the warp by what comes out, warped(x) = f(x + out(x)): rb_array_none() for both, or
 * two images. RB_EUNSUPPORTED where the variant has none: rb_compose_has_step tells. */
rb_status rb_compose_step(rb_compose_plan *p, rb_array e, rb_array s1, rb_array s2, rb_array out, rb_array f,
                          rb_array warped);
int rb_compose_has_step(const rb_variant *variant);
rb_status rb_compose_warp(rb_compose_plan *p, rb_array f, rb_array s, rb_array out);
/* Of out, [n] as before, planes [begin, end) of axis 1 alone, to the bits of the whole. RB_EUNSUPPORTED: the variant
 * does not. */
rb_status rb_compose_warp_planes(rb_compose_plan *p, rb_array f, rb_array s, int64_t begin, int64_t end,
                                 rb_array out);
rb_status rb_compose_determinant(rb_compose_plan *p, rb_array s, rb_array out);
rb_status rb_compose_bracket(rb_compose_plan *p, rb_array v, rb_array w, rb_array out);
/* NaN when the field holds one. In two halves, so that work issued between them keeps the backend busy; _end waits
 * for the value only. */
rb_status rb_compose_longest_begin(rb_compose_plan *p, rb_array s);
rb_status rb_compose_longest_end(rb_compose_plan *p, double *out);
rb_status rb_compose_longest(rb_compose_plan *p, rb_array s, double *out); /* both */
/* f [inner] to out [n], and f [n] to out [inner]; no axis of inner longer than the grid's. */
rb_status rb_compose_pad(rb_compose_plan *p, rb_grid inner, rb_array f, rb_array out);
rb_status rb_compose_crop(rb_compose_plan *p, rb_grid inner, rb_array f, rb_array out);
/* The two halves of rb_compose, to be timed apart: for variants without `load` the first does nothing. */
rb_status rb_compose_load(rb_compose_plan *p, double a, rb_array s1);
rb_status rb_compose_loaded(rb_compose_plan *p, double a, rb_array s1, rb_array s2, rb_array out);
void rb_compose_destroy(rb_compose_plan *p); /* takes NULL */

/* Oracle of one value of rb_compose, float64. */
double rb_compose_oracle_at(const rb_compose_desc *desc, double a, const void *s1, const void *s2, int component,
                            int64_t node);

/* Least traffic of one composition: two fields read, one written; demons2020's 36 B a voxel in float32. */
double rb_compose_bytes(const rb_compose_desc *desc);
/* Largest accepted |out - oracle| of compose or warp for |f| <= range: points lie within eps `reach` (the greatest
 * coordinate), and the hardware's weights within their last bit, of where they should; neighbours differ by 2 range
 * at most. variant may be NULL: exact weights. */
double rb_compose_tolerance(const rb_variant *variant, const rb_compose_desc *desc, double range, double reach);

#ifdef __cplusplus
}
#endif
#endif
