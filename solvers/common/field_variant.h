/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RB_FIELD_VARIANT_H
#define RB_FIELD_VARIANT_H

#include "kernels/base/variant.h"

/* The field kernels that solvers and their Krylov vectors use on a backend: cpu/omp or cuda/grid. */
const rb_variant *rb_field_variant(rb_backend_kind kind);

#endif
