/* SPDX-License-Identifier: BSD-3-Clause */
/* The vector type "regbench-host": PETSc's sequential vectors, with one thread's vectorised loops for what a
 * quasi-Newton method does some 60 times an iteration. A product of 5541 values takes 4.3 us by a reference BLAS, 3
 * us and more where a team of threads is asked first, 0.6 us here. petsc/private/vecimpl.h is PETSc's header for
 * authors of vector types. */
#include "solvers/landmarks/host_vec.h"

#include <math.h>
#include <petsc/private/vecimpl.h>

/* PETSc's own norm, kept by construct, for the norms that ours does not have. One for all vectors: it is the same
 * function each time. */
static PetscErrorCode (*plain_norm)(Vec, NormType, PetscReal *);

/* z = a x + b y + c z; x and y may be NULL, and what has the factor 0 is not read. PETSc's linear operations are
 * cases of it. A case a loop, so that each is vectorised without a test inside, and so that beside an x with c = 0
 * nothing of an output that was never written enters: 0 times NaN would. */
static PetscErrorCode combine(Vec z, PetscScalar a, Vec x, PetscScalar b, Vec y, PetscScalar c) {
  const PetscInt n = z->map->n;
  const PetscScalar *from = NULL, *other = NULL;
  PetscScalar *to;
  if (x) PetscCall(VecGetArrayRead(x, &from));
  if (y) PetscCall(VecGetArrayRead(y, &other));
  PetscCall(VecGetArray(z, &to));
  if (x && y && c != 0) {
#pragma omp simd
    for (PetscInt i = 0; i < n; i++) to[i] = a * from[i] + b * other[i] + c * to[i];
  } else if (x && y) {
#pragma omp simd
    for (PetscInt i = 0; i < n; i++) to[i] = a * from[i] + b * other[i];
  } else if (x && c != 0) {
#pragma omp simd
    for (PetscInt i = 0; i < n; i++) to[i] = a * from[i] + c * to[i];
  } else if (x) {
#pragma omp simd
    for (PetscInt i = 0; i < n; i++) to[i] = a * from[i];
  } else if (c != 0) {
#pragma omp simd
    for (PetscInt i = 0; i < n; i++) to[i] *= c;
  } else {
    for (PetscInt i = 0; i < n; i++) to[i] = 0;
  }
  PetscCall(VecRestoreArray(z, &to));
  if (y) PetscCall(VecRestoreArrayRead(y, &other));
  if (x) PetscCall(VecRestoreArrayRead(x, &from));
  return 0;
}
static PetscErrorCode scale(Vec z, PetscScalar c) { return combine(z, 0, NULL, 0, NULL, c); }
static PetscErrorCode copy(Vec x, Vec z) { return x == z ? 0 : combine(z, 1, x, 0, NULL, 0); }
static PetscErrorCode axpy(Vec z, PetscScalar a, Vec x) { return combine(z, a, x, 0, NULL, 1); }
static PetscErrorCode aypx(Vec z, PetscScalar c, Vec x) { return combine(z, 1, x, 0, NULL, c); }
static PetscErrorCode axpby(Vec z, PetscScalar a, PetscScalar c, Vec x) { return combine(z, a, x, 0, NULL, c); }
static PetscErrorCode waxpy(Vec z, PetscScalar a, Vec x, Vec y) { return combine(z, a, x, 1, y, 0); }
static PetscErrorCode axpbypcz(Vec z, PetscScalar a, PetscScalar b, PetscScalar c, Vec x, Vec y) {
  return combine(z, a, x, b, y, c);
}
/* Several at a time, z += sum a_i x_i, in the order of i. */
static PetscErrorCode maxpy(Vec z, PetscInt count, const PetscScalar *a, Vec *x) {
  for (PetscInt i = 0; i < count; i++) PetscCall(axpy(z, a[i], x[i]));
  return 0;
}

/* The order of additions is fixed by n alone: the same bits on every run. */
static PetscErrorCode dot(Vec x, Vec y, PetscScalar *out) {
  enum { SUMS = 32 }; /* independent, so that no addition waits for the one before */
  const PetscInt n = x->map->n, whole = n / SUMS * SUMS;
  const PetscScalar *one, *other;
  PetscScalar sum = 0, sums[SUMS] = {0};
  PetscCall(VecGetArrayRead(x, &one));
  PetscCall(VecGetArrayRead(y, &other));
  for (PetscInt i = 0; i < whole; i += SUMS)
#pragma omp simd
    for (int k = 0; k < SUMS; k++) sums[k] += one[i + k] * other[i + k];
  for (int k = 0; k < SUMS; k++) sum += sums[k];
  for (PetscInt i = whole; i < n; i++) sum += one[i] * other[i];
  PetscCall(VecRestoreArrayRead(y, &other));
  PetscCall(VecRestoreArrayRead(x, &one));
  *out = sum;
  return 0;
}
static PetscErrorCode mdot(Vec x, PetscInt count, const Vec *y, PetscScalar *out) {
  for (PetscInt i = 0; i < count; i++) PetscCall(dot(x, y[i], &out[i]));
  return 0;
}
/* The 2-norm by our dot product; every other norm by PETSc's function. */
static PetscErrorCode norm(Vec x, NormType type, PetscReal *out) {
  PetscScalar square;
  if (type != NORM_2 && type != NORM_FROBENIUS) return plain_norm(x, type, out);
  PetscCall(dot(x, x, &square));
  *out = sqrt(square);
  return 0;
}

PETSC_EXTERN PetscErrorCode VecCreate_Seq(Vec); /* PETSc's own constructor */
/* VecCreate_Seq makes a whole sequential vector; operations that are not replaced stay PETSc's, memory and
 * duplication included. PETSc calls this for VecSetType. */
static PetscErrorCode construct(Vec v) {
  PetscCall(VecCreate_Seq(v));
  plain_norm = v->ops->norm;
  v->ops->scale = scale, v->ops->copy = copy, v->ops->axpy = axpy, v->ops->aypx = aypx, v->ops->axpby = axpby,
  v->ops->waxpy = waxpy;
  v->ops->axpbypcz = axpbypcz, v->ops->maxpy = maxpy;
  v->ops->dot = v->ops->tdot = v->ops->dot_local = v->ops->tdot_local = dot;
  v->ops->mdot = v->ops->mtdot = v->ops->mdot_local = v->ops->mtdot_local = mdot;
  v->ops->norm = v->ops->norm_local = norm;
  PetscCall(PetscObjectChangeTypeName((PetscObject)v, "regbench-host"));
  return 0;
}

rb_status rb_host_vec_create(int64_t n, Vec *out) {
  static int registered; /* once a process */
  rb_status st = RB_OK;
  *out = NULL;
  RB_TRY(rb_krylov_open());
  if (!registered) RB_PETSC(VecRegister("regbench-host", construct));
  registered = 1;
  RB_PETSC(VecCreate(rb_krylov_communicator(), out));
  RB_PETSC(VecSetSizes(*out, (PetscInt)n, (PetscInt)n));
  RB_PETSC(VecSetType(*out, "regbench-host"));
  RB_PETSC(VecSet(*out, 0));
done:
  if (st != RB_OK && *out) VecDestroy(out);
  return st;
}
