/* SPDX-License-Identifier: BSD-3-Clause */
#include "solvers/common/field_variant.h"

#include "kernels/registry/registry.h"

/* One variant a backend, so that a solver's fields and its Krylov vectors are worked on by the same kernels. */
const rb_variant *rb_field_variant(rb_backend_kind kind) {
  const rb_variant *v = NULL;
  rb_variant_find(&rb_field_family, kind == RB_CUDA ? "cuda/grid" : "cpu/omp", &v);
  return v;
}
