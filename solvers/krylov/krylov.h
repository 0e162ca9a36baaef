/* SPDX-License-Identifier: BSD-3-Clause */
/* PETSc on a backend's memory: a vector type whose values lie where the kernels work, so that KSP and TAO run there.
 *
 * PETSc computes its scalars in double; the values are the plan's type (float32 on the GPU). Sums are taken in
 * float64. */
#ifndef RB_KRYLOV_H
#define RB_KRYLOV_H

#include "kernels/base/array.h"

#include <petsctao.h>

/* Start PETSc once a process, without its signal handlers and banners. RB_EUNSUPPORTED when it refuses. */
rb_status rb_krylov_open(void);
/* PETSc options, e.g. "-ksp_monitor -tao_monitor", for every solver created from here on. */
rb_status rb_krylov_options(const char *options);
void rb_krylov_close(void);

/* Of every PETSc object here: that of a team of one. Problems are shared out over a team as a whole (an atlas'
 * images), never a vector of one. */
MPI_Comm rb_krylov_communicator(void);

/* A vector of n values on b. RB_EUNSUPPORTED from 2^31 values on: Debian's PETSc has 32-bit indices. */
rb_status rb_vec_create(const rb_backend *b, rb_dtype dtype, int64_t n, Vec *out);
/* Ends it (where *v is not NULL), and gives back the memory of all vectors that were duplicated from it, directly or
 * not, and are still there: where one of several cannot be made, PETSc loses the others. To be called when nothing
 * uses them any more. */
void rb_vec_destroy(Vec *v);
/* Its values on the backend; rb_vec_data declares them changed. */
rb_array rb_vec_data(Vec v);
rb_array rb_vec_read(Vec v);

/* The other way round, for callbacks that PETSc calls: remember st, return PETSc's code. */
PetscErrorCode rb_petsc_code(rb_status st);
/* A PETSc call failed: the remembered status of our own callback, or RB_EINVALID with PETSc's message. */
rb_status rb_petsc_failure(PetscErrorCode code, const char *call, const char *file, int line);

#define RB_PETSC(call)                                           \
  do {                                                           \
    PetscErrorCode rb_code = (call);                             \
    if (rb_code) {                                               \
      st = rb_petsc_failure(rb_code, #call, __FILE__, __LINE__); \
      goto done;                                                 \
    }                                                            \
  } while (0)

#endif
