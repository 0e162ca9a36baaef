/* SPDX-License-Identifier: BSD-3-Clause */
/* A variant is one implementation of a family, under the exact name by which result files quote it. Base names no
 * family: kernels/registry lists them. */
#ifndef RB_BASE_VARIANT_H
#define RB_BASE_VARIANT_H

#include "kernels/base/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  const char *name; /* "cuda/texture-bspline": exact, repeated by records */
  const char *tag;  /* the paper's name, e.g. "GPU-TXTSPL"; "" when ours */
  const char *idea; /* what this rung adds, one line */
  rb_backend_kind backend;
  const void *ops;             /* the family's typed ops table; NULL in builds without CUDA */
  rb_backend_source *get_from; /* the backend that it runs on, or the reason why it cannot be used here */
} rb_variant;

typedef struct {
  const char *name; /* "interp" */
  const char *what; /* one line */
  const rb_variant *variants;
  int count;
  size_t ops_size; /* bytes of the ops table of a family of kernels; 0: solvers */
} rb_family;

/* RB_ENOTFOUND offers the nearest name. */
rb_status rb_variant_find(const rb_family *family, const char *name, const rb_variant **out);
/* The backend that it runs on; RB_EDEVICE with the reason: built without CUDA, no GPU, driver too old. */
rb_status rb_variant_backend(const rb_variant *variant, const rb_backend **out);
/* The same without the backend. */
rb_status rb_variant_available(const rb_variant *variant);
/* Whether times of it mean something: RB_EUNSUPPORTED for one that is executed by emulation. Failures of
 * rb_variant_available likewise. */
rb_status rb_variant_timed(const rb_variant *variant);
/* The candidate with the smallest edit distance to `name`, or NULL when none is near. */
const char *rb_nearest(const char *name, const char *const *candidates, int count);

#ifdef __cplusplus
}
#endif
#endif
