/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/base/array.h"

#include <stdlib.h>

rb_array rb_array_host(rb_dtype dtype, int64_t count, const void *data) {
  const rb_backend *cpu = NULL;
  rb_cpu_backend(&cpu); /* there always is one */
  return rb_array_view(cpu, dtype, count, data);
}

/* The caller owns out->data: one rb_array_destroy gives it back. On failure rb_alloc leaves NULL there. */
rb_status rb_array_create(const rb_backend *b, rb_dtype dtype, int64_t count, rb_array *out) {
  rb_status st = RB_OK;
  *out = rb_array_view(b, dtype, count, NULL);
  RB_TRY(rb_alloc(b, rb_array_bytes(*out), &out->data));
done:
  return st;
}

/* A second call finds no array. Copies of the rb_array made before still hold the old address. */
void rb_array_destroy(rb_array *a) {
  if (a->data) rb_release(a->place, a->data);
  a->data = NULL;
}

/* Whole arrays: the bytes follow from count and type. */
rb_status rb_array_upload(rb_array a, const void *host) { return a.place->upload(a.data, host, rb_array_bytes(a)); }
rb_status rb_array_download(rb_array a, void *host) { return a.place->download(host, a.data, rb_array_bytes(a)); }
rb_status rb_array_fill(rb_array a, int byte) { return a.place->fill(a.data, byte, rb_array_bytes(a)); }

/* `from` holds the other type than `to`. */
static void convert(rb_dtype type, int64_t count, const void *from, void *to) {
  if (type == RB_F64)
    for (int64_t i = 0; i < count; i++) ((double *)to)[i] = (double)((const float *)from)[i];
  else
    for (int64_t i = 0; i < count; i++) ((float *)to)[i] = (float)((const double *)from)[i];
}
/* From host memory of `type`: as it is where the array holds that type, else by way of a converted copy on the
 * host. float to double is exact; double to float rounds to nearest. */
static rb_status put(rb_array a, const void *host, rb_dtype type) {
  rb_status st = RB_OK;
  void *converted = NULL;
  if (a.dtype == type) return rb_array_upload(a, host);
  converted = malloc(rb_array_bytes(a));
  RB_CHECK(converted, RB_ENOMEM, "host memory: %zu bytes to convert values", rb_array_bytes(a));
  convert(a.dtype, a.count, host, converted);
  RB_TRY(rb_array_upload(a, converted));
done:
  free(converted);
  return st;
}
static rb_status get(rb_array a, void *host, rb_dtype type) {
  rb_status st = RB_OK;
  void *fetched = NULL;
  /* the same the other way: fetched in the array's type, then converted into the caller's memory */
  if (a.dtype == type) return rb_array_download(a, host);
  fetched = malloc(rb_array_bytes(a));
  RB_CHECK(fetched, RB_ENOMEM, "host memory: %zu bytes to convert values", rb_array_bytes(a));
  RB_TRY(rb_array_download(a, fetched));
  convert(type, a.count, fetched, host);
done:
  free(fetched);
  return st;
}
/* The caller's type against the array's: one of the two is converted, or neither. */
rb_status rb_array_put_floats(rb_array a, const float *host) { return put(a, host, RB_F32); }
rb_status rb_array_get_floats(rb_array a, float *host) { return get(a, host, RB_F32); }
rb_status rb_array_put_doubles(rb_array a, const double *host) { return put(a, host, RB_F64); }
rb_status rb_array_get_doubles(rb_array a, double *host) { return get(a, host, RB_F64); }

/* In this order: is there an array, does it lie on the plan's backend, is it of its type, is it long enough. The
 * message names the family and the argument. */
rb_status rb_array_check(rb_array a, const char *family, const char *argument, const rb_backend *b, rb_dtype dtype,
                         int64_t count) {
  rb_status st = RB_OK;
  RB_CHECK(a.data, RB_EINVAL, "%s: %s is missing", family, argument);
  /* backends are compared by address: there is one rb_backend of each */
  RB_CHECK(a.place == b, RB_EINVAL, "%s: %s lies on %s, the plan on %s", family, argument, a.place->name, b->name);
  RB_CHECK(a.dtype == dtype, RB_EINVAL, "%s: %s holds %s, the plan is for %s", family, argument,
           rb_dtype_name(a.dtype), rb_dtype_name(dtype));
  /* longer is allowed: the call uses the first `count` values */
  RB_CHECK(a.count >= count, RB_EINVAL, "%s: %s holds %lld values, %lld are needed", family, argument,
           (long long)a.count, (long long)count);
done:
  return st;
}
