/* SPDX-License-Identifier: BSD-3-Clause */
/* An array as the front doors of the families take it: where it lies, what it holds, how much of it. They check that
 * once, against their plan, and hand the bare pointer to the variant; an array that is too short, of another type or
 * on another backend is an error with its name, not a wrong result. The geometry (grid, spacing, boundary) is in the
 * plan's description: it is the same for all arrays of a plan.
 *
 * An rb_array is a value: copies of it are the same memory. What rb_array_create made is given back by one
 * rb_array_destroy; views (rb_array_view, rb_array_part) borrow. A front door writes only what its comment calls an
 * output. */
#ifndef RB_BASE_ARRAY_H
#define RB_BASE_ARRAY_H

#include "kernels/base/backend.h"
#include "kernels/base/grid.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  void *data;              /* the first value; NULL: no array */
  const rb_backend *place; /* where it lies */
  rb_dtype dtype;          /* of a value */
  int64_t count;           /* values */
} rb_array;

static inline size_t rb_array_bytes(rb_array a) { return (size_t)a.count * rb_dtype_size(a.dtype); }

/* count values that lie on b at `data` already. */
static inline rb_array rb_array_view(const rb_backend *b, rb_dtype dtype, int64_t count, const void *data) {
  rb_array a;
  a.data = (void *)data, a.place = b, a.dtype = dtype, a.count = count;
  return a;
}
/* The same of host memory, for plans of CPU variants. */
rb_array rb_array_host(rb_dtype dtype, int64_t count, const void *data);
/* No array, where an argument may be left out. */
static inline rb_array rb_array_none(void) { return rb_array_view(NULL, RB_F32, 0, NULL); }
/* Values first .. first + count - 1 of a; no array of no array. */
static inline rb_array rb_array_part(rb_array a, int64_t first, int64_t count) {
  if (!a.data) return a;
  return rb_array_view(a.place, a.dtype, count, (char *)a.data + (size_t)first * rb_dtype_size(a.dtype));
}
static inline void rb_array_swap(rb_array *a, rb_array *b) {
  const rb_array t = *a;
  *a = *b;
  *b = t;
}

/* count uninitialised values on b. *out is no array on failure: RB_ENOMEM with the bytes asked for. */
rb_status rb_array_create(const rb_backend *b, rb_dtype dtype, int64_t count, rb_array *out);
/* Takes no array; leaves none. */
void rb_array_destroy(rb_array *a);
/* From and to host memory of the same type and count. */
rb_status rb_array_upload(rb_array a, const void *host);
rb_status rb_array_download(rb_array a, void *host);
/* The same from and to floats or doubles, converted where `a` holds the other type. RB_ENOMEM. */
rb_status rb_array_put_floats(rb_array a, const float *host);
rb_status rb_array_get_floats(rb_array a, float *host);
rb_status rb_array_put_doubles(rb_array a, const double *host);
rb_status rb_array_get_doubles(rb_array a, double *host);
/* Every byte. 0: zeros; 0xFF: NaN in either precision. */
rb_status rb_array_fill(rb_array a, int byte);

/* RB_EINVAL, with the names of family and argument and the cause, unless `a` lies on b, holds values of `dtype` and
 * at least `count` of them. */
rb_status rb_array_check(rb_array a, const char *family, const char *argument, const rb_backend *b, rb_dtype dtype,
                         int64_t count);

/* In a front door, for its argument `a` of at least n values in the plan's type. Leaves through `done:`. */
#define RB_NEED(plan, family, a, n) \
  RB_TRY(rb_array_check((a), (family), #a, (plan)->backend, (plan)->desc.dtype, (int64_t)(n)))
/* The same for an argument that may be left out. */
#define RB_NEED_IF(plan, family, a, n)         \
  do {                                         \
    if ((a).data) RB_NEED(plan, family, a, n); \
  } while (0)

#ifdef __cplusplus
}
#endif
#endif
