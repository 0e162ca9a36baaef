/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers by which a displacement is judged, once for all that judge one. */
#ifndef RB_DISPLACEMENT_QUALITY_H
#define RB_DISPLACEMENT_QUALITY_H

#include <stdint.h>

/* Of det(I + du/dx) at n voxels. A determinant that is not finite makes all but the folds NaN. */
typedef struct {
  double least, greatest, mean, sd;
  double percent_folds; /* voxels whose determinant is not above 0 */
  double log_sd;        /* standard deviation of the logarithm where it is above 0 */
} rb_determinant_summary;
rb_determinant_summary rb_summarise_determinant(int64_t n, const float *det);

/* Sums of squared differences to a reference, before and after a template is moved. */
typedef struct {
  double before, after;
  double ratio; /* after / before; 0 where the images were equal */
} rb_mismatch;
rb_mismatch rb_mismatch_of(int64_t n, const float *before, const float *after, const float *reference);
#endif
