/* compose: what displacement fields do, trilinear on a voxel grid.
 *
 * compose       out(x) = s2(x) + s1(x + s2(x))     (id + out) = (id + s1) o (id + s2)
 * warp          out(x) = f(x + s(x))
 * determinant   out(x) = det(I + ds/dx)(x)         central differences, one-sided at the border
 *
 * Displacements [3][n1][n2][n3] in voxels, component a along axis a + 1. Fields count as 0 beyond the grid, so that values
 * fade over one voxel outside it, as a texture with a border does. Source: demons2020, Algorithm 1 lines 5, 7 and 8. */
#ifndef RB_COMPOSE_H
#define RB_COMPOSE_H

#include "kernels/base/grid.h"
#include "kernels/base/registry.h"

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
} rb_compose_plan;

typedef struct {
  rb_status (*supports)(const rb_compose_desc *desc);
  rb_status (*plan)(const rb_backend *backend, const rb_compose_desc *desc, rb_compose_plan **out);
  rb_status (*compose)(rb_compose_plan *p, const void *s1, const void *s2, void *out);
  rb_status (*warp)(rb_compose_plan *p, const void *f, const void *s, void *out);
  rb_status (*determinant)(rb_compose_plan *p, const void *s, void *out);
  void (*destroy)(rb_compose_plan *p);
} rb_compose_ops;

rb_status rb_compose_create(const rb_variant *variant, const rb_compose_desc *desc, rb_compose_plan **out);
/* out must be neither s1 nor s2; s1 and s2 may be the same. */
rb_status rb_compose(rb_compose_plan *p, const void *s1, const void *s2, void *out);
rb_status rb_compose_warp(rb_compose_plan *p, const void *f, const void *s, void *out);
rb_status rb_compose_determinant(rb_compose_plan *p, const void *s, void *out);
void rb_compose_destroy(rb_compose_plan *p); /* takes NULL */

/* Least traffic of one composition: two fields read, one written; demons2020's 36 B a voxel in float32. */
double rb_compose_bytes(const rb_compose_desc *desc);
/* Largest accepted |out - oracle| of compose or warp for |f| <= range: points lie within eps `reach` (the greatest coordinate) of
 * where they should, and neighbours differ by 2 range at most. */
double rb_compose_tolerance(const rb_compose_desc *desc, double range, double reach);

#ifdef __cplusplus
}
#endif
#endif
