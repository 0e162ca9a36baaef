/* SPDX-License-Identifier: BSD-3-Clause */
/* All families of kernels and both backends: the one place that knows cpu_ref and cuda. */
#ifndef RB_REGISTRY_H
#define RB_REGISTRY_H

#include "kernels/base/variant.h"

#ifdef __cplusplus
extern "C" {
#endif

/* rb_interp_family and so on: the tables that CMake makes of families.def and of each <family>_variants.def. Only
 * rb_family_add changes them. */
#define RB_FAMILY(family, what) extern rb_family rb_##family##_family;
#include "kernels/registry/families.def"
#undef RB_FAMILY

/* All families, in the order in which tables list them. */
const rb_family *const *rb_families(int *count);
/* RB_ENOTFOUND offers the nearest name. */
rb_status rb_family_find(const char *name, const rb_family **out);

/* One more variant at the family's end, for good: the row is copied, its texts are not. Before the first use of the
 * family's table by anybody: pointers to its rows do not outlast this. RB_ENOTFOUND, RB_ENOMEM. */
rb_status rb_family_add(const char *family, const rb_variant *variant);

/* The backend, or RB_EDEVICE with the reason why it cannot be used here. */
rb_status rb_backend_get(rb_backend_kind kind, const rb_backend **out);
rb_backend_source rb_backend_get_cpu, rb_backend_get_cuda; /* the same, as variants' rows hold them */
/* Whether the CUDA variants of this build are executed on the CPU. */
int rb_cuda_is_emulated(void);

/* The end of a variant's row in a family's or a solver's table: what it runs on, its ops table or configuration, and
 * where the backend comes from. */
#define RB_ON_CPU(ops) RB_CPU, ops, rb_backend_get_cpu
#define RB_ON_CUDA(ops) RB_CUDA, ops, rb_backend_get_cuda

#ifdef __cplusplus
}
#endif
#endif
