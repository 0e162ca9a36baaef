/* SPDX-License-Identifier: BSD-3-Clause */
/* average: the weighted mean of N volumes, added one after the other.
 *
 *   out(x) = sum_i w_i image_i(x) / sum_i w_i
 *
 * Two kinds of sums. RB_SUM_FIXED holds rint(2^20 w_i image_i) in 32-bit whole numbers: the same bits in any order
 * and on any number of processes, for |sum of w_i image_i| < 2048, so up to 2047 images of intensities in [0, 1].
 * RB_SUM_FLOAT adds in the data's precision in the order of the calls. Images [n]. Source: ha2009 section 4.5. */
#ifndef RB_AVERAGE_H
#define RB_AVERAGE_H

#include "kernels/base/array.h"
#include "kernels/base/variant.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum { RB_SUM_FIXED, RB_SUM_FLOAT } rb_sum_kind;
#define RB_AVERAGE_UNIT 1048576.0 /* 2^20: whole numbers an intensity of 1 */

typedef struct {
  int64_t count; /* values of a volume */
  rb_sum_kind kind;
  rb_dtype dtype;
} rb_average_desc;

typedef struct rb_average_plan {
  const rb_variant *variant;
  const rb_backend *backend;
  rb_average_desc desc;
  void *sums; /* [count], on the backend: int32_t, or the data's type */
} rb_average_plan;

typedef struct {
  rb_status (*supports)(const rb_average_desc *desc);
  rb_status (*plan)(const rb_backend *backend, const rb_average_desc *desc, rb_average_plan **out);
  rb_status (*add)(rb_average_plan *p, double weight, const void *image);
  rb_status (*finish)(rb_average_plan *p, double total, void *out);
  void (*destroy)(rb_average_plan *p);
  void (*clear)(rb_average_plan *p); /* of what a variant keeps beside the sums; NULL: nothing */
} rb_average_ops;

rb_status rb_average_create(const rb_variant *variant, const rb_average_desc *desc, rb_average_plan **out);
/* Begin a new mean. */
rb_status rb_average_clear(rb_average_plan *p);
/* weight: positive and finite. */
rb_status rb_average_add(rb_average_plan *p, double weight, rb_array image);
/* The sums over `total`, the sum of all weights; sums stay. */
rb_status rb_average_finish(rb_average_plan *p, double total, rb_array out);
/* The sums, backend memory [count]: a team adds them between add and finish. */
void *rb_average_sums(rb_average_plan *p);
size_t rb_average_sum_bytes(const rb_average_desc *desc);
void rb_average_destroy(rb_average_plan *p); /* takes NULL */

/* Least traffic of adding one volume: it is read, the sums are read and written. */
double rb_average_bytes(const rb_average_desc *desc);
/* Largest accepted |out - exact mean| of N images of at most `range` and equal weights. */
double rb_average_tolerance(const rb_average_desc *desc, int images, double range);

#ifdef __cplusplus
}
#endif
#endif
