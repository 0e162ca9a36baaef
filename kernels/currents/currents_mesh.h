/* SPDX-License-Identifier: BSD-3-Clause */
/* The particle mesh of currents, composed of splat, transforms and two passes of a backend's own: cpu/mesh and
 * cuda/mesh differ by these alone. */
#ifndef RB_CURRENTS_MESH_H
#define RB_CURRENTS_MESH_H

#include "kernels/currents/currents.h"
#include "kernels/fft/fft.h"
#include "kernels/splat/splat.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rb_currents_mesh rb_currents_mesh;

typedef struct {
  const rb_fft_ops *fft;
  /* points = (y - origin) / spacing, [3][n]. */
  rb_status (*to_grid)(rb_currents_mesh *p, int64_t n, const void *y, void *points);
  /* grid += fixed */
  rb_status (*add_fixed)(rb_currents_mesh *p);
  /* *energy = 1/N sum_k w_k K^(k) |F^(k)|^2, w_k = 2 where a coefficient stands for two; F^ *= K^ / N. */
  rb_status (*filter)(rb_currents_mesh *p);
  /* The energy into one float64 on the backend, without waiting. */
  rb_status (*keep)(rb_currents_mesh *p, double *kept);
  /* u and z at x, from the grid. */
  rb_status (*gather)(rb_currents_mesh *p, int64_t n, const void *x, const void *pair, void *u, void *z);
} rb_currents_mesh_parts;

struct rb_currents_mesh {
  rb_currents_plan head;
  rb_currents_desc made_for; /* head.desc is filled in by the front door, later */
  const rb_currents_mesh_parts *parts;
  rb_splat_plan *splat;
  rb_fft *fft;
  /* On the backend: */
  void *points;   /* [3][sources], grid units */
  void *grid;     /* [3][n]: splat moments, then the field */
  void *fixed;    /* [3][n]: of fixed sources; NULL: none */
  void *spectrum; /* [3] spectra */
  void *kernel;   /* K^ along the axes: n1, n2 and n3/2 + 1 values, in the plan's type */
  double *energy; /* [1 + n1 or RB_CURRENTS_PARTIALS, the greater]: the whole, and its parts */
  int inverted;   /* whether `grid` holds the field */
};
enum { RB_CURRENTS_PARTIALS = 1024 };

rb_status rb_currents_mesh_plan(const rb_backend *backend, const rb_currents_desc *d,
                                const rb_currents_mesh_parts *parts, rb_currents_plan **out);
rb_status rb_currents_mesh_supports(const rb_currents_desc *d);
rb_status rb_currents_mesh_set_fixed(rb_currents_plan *p, int64_t n, const void *y, const void *m);
rb_status rb_currents_mesh_load(rb_currents_plan *p, const void *y, const void *m);
rb_status rb_currents_mesh_eval(rb_currents_plan *p, int64_t n, const void *x, const void *pair, void *u, void *z);
rb_status rb_currents_mesh_energy(rb_currents_plan *p, double *kept);
rb_status rb_currents_mesh_outcome(rb_currents_plan *p);
void rb_currents_mesh_destroy(rb_currents_plan *p);

#ifdef __cplusplus
}
#endif
#endif
