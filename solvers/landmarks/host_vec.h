/* SPDX-License-Identifier: BSD-3-Clause */
/* PETSc vectors for an optimiser of some thousand unknowns beside a GPU. */
#ifndef RB_LANDMARKS_HOST_VEC_H
#define RB_LANDMARKS_HOST_VEC_H

#include "solvers/krylov/krylov.h"

/* n doubles on the host, all 0. To be given to VecDestroy. */
rb_status rb_host_vec_create(int64_t n, Vec *out);

#endif
