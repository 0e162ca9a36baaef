/* SPDX-License-Identifier: BSD-3-Clause */
/* Families, their variants, and the exact names under which result files quote them. */
#ifndef RB_BASE_REGISTRY_H
#define RB_BASE_REGISTRY_H

#include "kernels/base/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  const char *name; /* "cuda/texture-bspline": exact, repeated by records */
  const char *tag;  /* the paper's name, e.g. "GPU-TXTSPL"; "" when ours */
  const char *idea; /* what this rung adds, one line */
  rb_backend_kind backend;
  const void *ops; /* the family's typed ops table; NULL in builds without CUDA */
} rb_variant;

typedef struct {
  const char *name; /* "interp" */
  const char *what; /* one line */
  const rb_variant *variants;
  int count;
} rb_family;

extern const rb_family rb_interp_family, rb_derivative_family, rb_spectral_family, rb_field_family,
    rb_transport_family, rb_gausssum_family, rb_smooth_family, rb_compose_family, rb_force_family, rb_probe_family;

/* All families, in the order in which tables list them. */
const rb_family *const *rb_families(int *count);
/* RB_ENOTFOUND offers the nearest name. */
rb_status rb_family_find(const char *name, const rb_family **out);
rb_status rb_variant_find(const rb_family *family, const char *name, const rb_variant **out);
/* RB_OK, or RB_EDEVICE with the reason: built without CUDA, no GPU, driver too old. */
rb_status rb_variant_available(const rb_variant *variant);
/* Whether times of it mean something: RB_EUNSUPPORTED for one that is executed by emulation. Failures of
 * rb_variant_available likewise. */
rb_status rb_variant_timed(const rb_variant *variant);
/* Whether the CUDA variants of this build are executed on the CPU. */
int rb_cuda_is_emulated(void);
/* The candidate with the smallest edit distance to `name`, or NULL when none is near. */
const char *rb_nearest(const char *name, const char *const *candidates, int count);

#ifdef __cplusplus
}
#endif
#endif
