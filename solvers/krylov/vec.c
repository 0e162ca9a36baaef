/* SPDX-License-Identifier: BSD-3-Clause */
/* The PETSc vector type "regbench": values in a backend's memory, arithmetic by the field family.
 * petsc/private/vecimpl.h is PETSc's header for authors of vector types. */
#include "kernels/field/field.h"
#include "solvers/krylov/krylov.h"
#include "solvers/common/field_variant.h"

#include <math.h>
#include <petsc/private/vecimpl.h>

/* The data of a PETSc vector. It owns its values and a plan of field kernels for its length. The list of those alive
 * is the program's: vectors of all solvers are in it, told apart by `kin`. */
typedef struct store {
  rb_field_plan *field; /* of the vector's length */
  rb_array values;      /* owned; on the backend */
  long kin;             /* of rb_vec_create; what is duplicated from a vector is its kin */
  struct store *later;  /* in the list of those alive */
} store;
static store *alive; /* the last one made first */

/* What the next vector is created with: PETSc's constructor takes no argument of ours. It is set right before
 * VecSetType and read in construct: vectors are made by one thread at a time. */
static store next;

/* In callbacks of PETSc: a failure of ours is remembered, and PETSc gets its own kind of code. */
#define TRY(call)                                \
  do {                                           \
    rb_status st_ = (call);                      \
    if (st_ != RB_OK) return rb_petsc_code(st_); \
  } while (0)

static store *of(Vec v) { return v->data; }
/* One process holds a whole vector: local and global size are one. */
static int64_t length(Vec v) { return v->map->n; }

/* Gives memory back; the store itself stays until PETSc lets go of the vector. */
static void release(store *s) {
  rb_field_destroy(s->field);
  rb_array_destroy(&s->values);
  s->field = NULL; /* released: a second time does nothing */
}
/* Called by PETSc when the last reference goes. The store may be empty already, after rb_vec_destroy of its kin. */
static PetscErrorCode destroy(Vec v) {
  store *s = of(v);
  if (s) {
    release(s);
    for (store **p = &alive; *p; p = &(*p)->later)
      if (*p == s) {
        *p = s->later;
        break;
      }
  }
  return PetscFree(v->data);
}

/* Type, place and kin come from `next`, which construct reads: PETSc copies only sizes. */
static PetscErrorCode duplicate(Vec v, Vec *out) {
  PetscCall(VecCreate(PetscObjectComm((PetscObject)v), out));
  PetscCall(VecSetSizes(*out, v->map->n, v->map->N));
  next = *of(v); /* dtype, place and kin of v */
  PetscCall(VecSetType(*out, "regbench"));
  return 0;
}
/* All or none: PETSc's own leaves garbage behind when memory ends in between, and frees it later. */
static PetscErrorCode duplicate_several(Vec v, PetscInt count, Vec **out) {
  PetscCall(PetscCalloc1(count, out));
  for (PetscInt i = 0; i < count; i++) {
    PetscErrorCode code = duplicate(v, &(*out)[i]);
    if (!code) continue;
    for (PetscInt k = 0; k <= i; k++)
      if ((*out)[k]) PetscCall(VecDestroy(&(*out)[k]));
    PetscCall(PetscFree(*out));
    return code;
  }
  return 0;
}
static PetscErrorCode getsize(Vec v, PetscInt *n) {
  *n = v->map->N;
  return 0;
}

static PetscErrorCode set(Vec z, PetscScalar a) {
  TRY(rb_field_fill(of(z)->field, length(z), a, of(z)->values));
  return 0;
}
/* z = a x + b y + c z by one kernel; PETSc's seven linear operations are cases of it. Nothing is waited for: on a GPU
 * it is queued on the backend's stream, in the order of the calls. */
static PetscErrorCode combine(Vec z, PetscScalar a, Vec x, PetscScalar b, Vec y, PetscScalar c) {
  TRY(rb_field_combine(of(z)->field, length(z), a, x ? of(x)->values : rb_array_none(), b,
                       y ? of(y)->values : rb_array_none(), c, of(z)->values));
  return 0;
}
static PetscErrorCode scale(Vec z, PetscScalar c) { return combine(z, 0, NULL, 0, NULL, c); }
static PetscErrorCode copy(Vec x, Vec z) { return combine(z, 1, x, 0, NULL, 0); }
static PetscErrorCode axpy(Vec z, PetscScalar a, Vec x) { return combine(z, a, x, 0, NULL, 1); }
static PetscErrorCode aypx(Vec z, PetscScalar c, Vec x) { return combine(z, 1, x, 0, NULL, c); }
static PetscErrorCode axpby(Vec z, PetscScalar a, PetscScalar c, Vec x) { return combine(z, a, x, 0, NULL, c); }
static PetscErrorCode waxpy(Vec z, PetscScalar a, Vec x, Vec y) { return combine(z, a, x, 1, y, 0); }
static PetscErrorCode axpbypcz(Vec z, PetscScalar a, PetscScalar b, PetscScalar c, Vec x, Vec y) {
  return combine(z, a, x, b, y, c);
}
/* z += sum a_i x_i, one axpy after the other. */
static PetscErrorCode maxpy(Vec z, PetscInt n, const PetscScalar *a, Vec *x) {
  for (PetscInt i = 0; i < n; i++) PetscCall(axpy(z, a[i], x[i]));
  return 0;
}
/* w = x y and w = x / y, value by value. */
static PetscErrorCode pointwise_mult(Vec w, Vec x, Vec y) {
  TRY(rb_field_multiply(of(w)->field, length(w), 1, of(x)->values, of(y)->values, 0, of(w)->values));
  return 0;
}
static PetscErrorCode pointwise_divide(Vec w, Vec x, Vec y) {
  TRY(rb_field_divide(of(w)->field, length(w), 1, of(x)->values, of(y)->values, of(w)->values));
  return 0;
}

/* Sums are taken in float64, and reading them waits for the device: each dot product or norm of an optimiser is such
 * a wait. */
static PetscErrorCode dot(Vec x, Vec y, PetscScalar *out) {
  double value;
  TRY(rb_field_dot(of(x)->field, length(x), of(x)->values, of(y)->values, &value));
  *out = value;
  return 0;
}
/* x.y_i for each i, one after the other. */
static PetscErrorCode mdot(Vec x, PetscInt n, const Vec *y, PetscScalar *out) {
  for (PetscInt i = 0; i < n; i++) PetscCall(dot(x, y[i], &out[i]));
  return 0;
}
static PetscErrorCode norm(Vec x, NormType type, PetscReal *out) {
  PetscScalar square = 0;
  rb_extremes e;
  if (type == NORM_INFINITY) {
    TRY(rb_field_extremes(of(x)->field, length(x), of(x)->values, &e));
    *out = fmax(fabs(e.least), fabs(e.greatest)); /* max |x_i| */
    return 0;
  }
  PetscCheck(type == NORM_2 || type == NORM_FROBENIUS, rb_krylov_communicator(), PETSC_ERR_SUP,
             "vectors of type regbench have the 2-norm and the maximum norm");
  PetscCall(dot(x, x, &square));
  *out = sqrt(square);
  return 0;
}

/* PETSc calls this for VecSetType: a store in the list of those alive, our operations, then memory. Failing half-way
 * leaves a vector that destroy can take. All operations that TAO's and KSP's methods here ask for, and no others:
 * PETSc reports one that is missing. Local operations are the global ones, as one process holds the whole vector.
 * Values are not cleared. */
static PetscErrorCode construct(Vec v) {
  store *s;
  rb_field_desc d = {.count = v->map->n, .dtype = next.values.dtype};
  PetscCall(PetscNew(&s));
  *s = (store){.kin = next.kin, .later = alive};
  v->data = s, alive = s; /* before anything can fail */
  *v->ops = (struct _VecOps){
      .duplicate = duplicate,
      .duplicatevecs = duplicate_several,
      .destroyvecs = VecDestroyVecs_Default,
      .destroy = destroy,
      .getsize = getsize,
      .getlocalsize = getsize,
      .set = set,
      .copy = copy,
      .scale = scale,
      .axpy = axpy,
      .aypx = aypx,
      .axpby = axpby,
      .waxpy = waxpy,
      .axpbypcz = axpbypcz,
      .maxpy = maxpy,
      .pointwisemult = pointwise_mult,
      .pointwisedivide = pointwise_divide,
      .dot = dot,
      .tdot = dot,
      .mdot = mdot,
      .mtdot = mdot,
      .norm = norm,
      .dot_local = dot,
      .tdot_local = dot,
      .mdot_local = mdot,
      .mtdot_local = mdot,
      .norm_local = norm,
  };
  TRY(rb_field_create(rb_field_variant(next.values.place->kind), &d, &s->field));
  TRY(rb_array_create(next.values.place, d.dtype, v->map->n, &s->values));
  PetscCall(PetscObjectChangeTypeName((PetscObject)v, "regbench"));
  return 0;
}

/* The type is registered once a process. Each call founds a new kin, so that numbers never repeat. */
rb_status rb_vec_create(const rb_backend *b, rb_dtype dtype, int64_t n, Vec *out) {
  static int registered;
  static long made; /* kin so far */
  rb_status st = RB_OK;
  *out = NULL;
  RB_CHECK(n < (int64_t)1 << 31, RB_EUNSUPPORTED,
           "PETSc's 32-bit indices end at 2^31 values, %lld asked for; take a smaller size", (long long)n);
  RB_TRY(rb_krylov_open());
  if (!registered) RB_PETSC(VecRegister("regbench", construct));
  registered = 1;
  RB_PETSC(VecCreate(rb_krylov_communicator(), out));
  RB_PETSC(VecSetSizes(*out, (PetscInt)n, (PetscInt)n));
  next = (store){.values = rb_array_view(b, dtype, n, NULL), .kin = ++made}; /* no values yet: type and place */
  RB_PETSC(VecSetType(*out, "regbench"));
done:
  if (st != RB_OK && *out) VecDestroy(out);
  return st;
}

/* PETSc's solvers keep duplicates until they are destroyed themselves: the kin's memory goes at once. Their stores
 * stay in the list, without memory, until PETSc destroys the vectors. */
void rb_vec_destroy(Vec *v) {
  if (!*v) return;
  const long kin = of(*v)->kin;
  VecDestroy(v);
  for (store *s = alive; s; s = s->later)
    if (s->kin == kin) release(s);
}

/* To be written: PETSc's cached norms are void from here on. */
rb_array rb_vec_data(Vec v) {
  PetscObjectStateIncrease((PetscObject)v);
  return of(v)->values;
}
rb_array rb_vec_read(Vec v) { return of(v)->values; }
