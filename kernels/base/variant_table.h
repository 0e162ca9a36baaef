/* SPDX-License-Identifier: BSD-3-Clause */
/* Declares a family's ops tables and lists its variants. Included once by <family>.c, after defining
 *   RB_FAMILY_OPS  the family's ops type,   RB_FAMILY_DEF  its "<family>_variants.def".
 * Leaves `static const rb_variant variants[]`. No include guard: it is a piece of the file that includes it. */
#define RB_VARIANT(symbol, ...) extern const RB_FAMILY_OPS symbol;
#define RB_VARIANT_CUDA(symbol, ...) extern const RB_FAMILY_OPS symbol;
#include RB_FAMILY_DEF
#undef RB_VARIANT
#undef RB_VARIANT_CUDA

#define RB_VARIANT(symbol, name, tag, backend, idea) {name, tag, idea, backend, &symbol},
#ifdef RB_WITH_CUDA
#define RB_VARIANT_CUDA(symbol, name, tag, idea) {name, tag, idea, RB_CUDA, &symbol},
#else
#define RB_VARIANT_CUDA(symbol, name, tag, idea) {name, tag, idea, RB_CUDA, NULL},
#endif
static const rb_variant variants[] = {
#include RB_FAMILY_DEF
};
#undef RB_VARIANT
#undef RB_VARIANT_CUDA
