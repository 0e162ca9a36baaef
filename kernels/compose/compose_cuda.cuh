/* SPDX-License-Identifier: BSD-3-Clause */
/* What the CUDA variants of compose share: supports, plan, and the operations that interpolate nothing. */
#ifndef RB_COMPOSE_CUDA_CUH
#define RB_COMPOSE_CUDA_CUH

#include "kernels/compose/compose.h"
#include "kernels/cuda/cuda.cuh"
#include "kernels/cuda/pinned.h"

#include <stdlib.h>

typedef struct {
  rb_compose_plan head;
  unsigned *most;  /* bits of the greatest square, on the device */
  float *host;     /* the same, in pinned memory */
  int host_is_own; /* pinned for this plan, as no slot was left */
  cudaEvent_t there;
} compose_plan;

rb_status compose_supports(const rb_compose_desc *d);
rb_status compose_open(const rb_backend *backend, compose_plan *p);
void compose_close(compose_plan *p);
/* For variants whose plan holds nothing more. */
rb_status compose_plan_make(const rb_backend *backend, const rb_compose_desc *d, rb_compose_plan **out);
void compose_destroy(rb_compose_plan *p);

rb_status compose_determinant(rb_compose_plan *p, const void *s, void *out);
rb_status compose_bracket(rb_compose_plan *p, const void *v, const void *w, void *out);
rb_status compose_longest(rb_compose_plan *p, const void *s);
rb_status compose_longest_end(rb_compose_plan *p);
rb_status compose_pad(rb_compose_plan *p, rb_grid inner, const void *f, void *out);
rb_status compose_crop(rb_compose_plan *p, rb_grid inner, const void *f, void *out);

struct sizes {
  int n1, n2, n3;
};
static inline sizes sizes_of(rb_grid g) {
  sizes s = {(int)g.n[0], (int)g.n[1], (int)g.n[2]};
  return s;
}

/* Blocks of WIDE x HIGH nodes of a plane, `deep` planes each. */
enum { WIDE = 32, HIGH = 8 };
static inline dim3 tiles_of(rb_grid g, int deep) {
  return dim3(rb_blocks(g.n[2], WIDE), rb_blocks(g.n[1], HIGH), rb_blocks(g.n[0], deep));
}

#endif
