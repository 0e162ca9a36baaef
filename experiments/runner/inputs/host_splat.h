/* SPDX-License-Identifier: BSD-3-Clause */
/* One splat from host arrays to a host array for any variant, as host_apply.h has it for the other families. */
#ifndef RB_HOST_SPLAT_H
#define RB_HOST_SPLAT_H

#include "kernels/splat/splat.h"

/* x [3][np], m [components][np], out [components][n], in desc->dtype. lost: points that added nothing; may be NULL.
 */
rb_status rb_host_splat(const rb_variant *v, const rb_splat_desc *desc, const void *x, const void *m, void *out,
                        int64_t *lost);
#endif
