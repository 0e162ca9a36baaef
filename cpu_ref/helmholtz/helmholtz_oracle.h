/* SPDX-License-Identifier: BSD-3-Clause */
/* What any variant of helmholtz is held to: the operator itself, and sweeps by plain loops. Host memory. */
#ifndef RB_HELMHOLTZ_ORACLE_H
#define RB_HELMHOLTZ_ORACLE_H

#include "kernels/helmholtz/helmholtz.h"

/* |f - L v| / |f| in float64 over the nodes inside the border, or over all of a periodic grid. NaN without memory. */
double rb_helmholtz_residual(const rb_helmholtz_desc *d, const void *f, const void *v, int periodic);
/* `sweeps` of red-black over-relaxation, a node at a time, every operation rounded as the contract has it. */
void rb_helmholtz_plain_sweeps(const rb_helmholtz_desc *d, int sweeps, double omega, const void *f, void *v);

#endif
