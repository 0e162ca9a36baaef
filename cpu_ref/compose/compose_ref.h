/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of compose's oracle that differentiates: compose_ref_slopes.c. */
#ifndef RB_CPU_REF_COMPOSE_REF_H
#define RB_CPU_REF_COMPOSE_REF_H

#include "kernels/compose/compose.h"

/* det(I + ds/dx) */
rb_status rb_compose_ref_determinant(rb_compose_plan *p, const void *s, void *out);
/* dv/dx w - dw/dx v */
rb_status rb_compose_ref_bracket(rb_compose_plan *p, const void *v, const void *w, void *out);

#endif
