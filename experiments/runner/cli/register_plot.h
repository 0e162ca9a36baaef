/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RB_REGISTER_PLOT_H
#define RB_REGISTER_PLOT_H

#include "experiments/runner/cli/register.h"

/* What the solver lowers, over its iterations: history.svg and history.png, a curve a level. RB_EUNSUPPORTED: no
 * gnuplot; RB_EIO. Nothing where the history has no such column, or one row. */
rb_status rb_register_plot(const rb_register_request *r, const rb_solution *s);
#endif
