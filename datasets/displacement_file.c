/* SPDX-License-Identifier: BSD-3-Clause */
#include "datasets/displacement_file.h"

#include "datasets/input_file.h"
#include "datasets/nifti_header.h"
#include "datasets/volume_voxels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows: how many voxels along x1, x2, x3 a mm to the left, posterior, superior is. 0: the affine cannot be inverted.
 */
static int voxels_a_mm(const nifti_image *h, double m[3][3]) {
  const mat44 a = h->sform_code > 0 ? h->sto_xyz : h->qto_xyz; /* NIfTI's x, y, z to right, anterior, superior */
  double c[3][3], det = 0;
  for (int r = 0; r < 3; r++)
    for (int k = 0; k < 3; k++) {
      const int r1 = (r + 1) % 3, r2 = (r + 2) % 3, k1 = (k + 1) % 3, k2 = (k + 2) % 3;
      c[r][k] = (double)a.m[r1][k1] * (double)a.m[r2][k2] - (double)a.m[r1][k2] * (double)a.m[r2][k1];
    }
  for (int k = 0; k < 3; k++) det += (double)a.m[0][k] * c[0][k];
  if (!(fabs(det) > 1e-12) || !isfinite(det)) return 0;
  for (int axis = 0; axis < 3; axis++) /* ours 0, 1, 2 are NIfTI's z, y, x */
    for (int r = 0; r < 3; r++) m[axis][r] = (r < 2 ? -1 : 1) * c[r][2 - axis] / det;
  return 1;
}

rb_status rb_displacement_read(const char *path, rb_grid g, float *u) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(g);
  double m[3][3];
  nifti_image *h = NULL;
  nifti_set_debug_level(0);
  RB_TRY(rb_input_file(path));
  RB_TRY(rb_nifti_header_check(path));
  h = nifti_image_read(path, 0);
  RB_CHECK(h && (h->datatype == DT_FLOAT32 || h->datatype == DT_FLOAT64) && (int64_t)h->nvox == 3 * n &&
               (h->nu == 3 || h->nt == 3),
           RB_EFORMAT, "%s is no field of three float components on a grid of %lldx%lldx%lld", path,
           (long long)g.n[2], (long long)g.n[1], (long long)g.n[0]);
  RB_CHECK(h->nx == g.n[2] && h->ny == g.n[1] && h->nz == g.n[0], RB_EFORMAT,
           "%s is %dx%dx%d, the reference %lldx%lldx%lld: a displacement has the reference's grid", path, h->nx,
           h->ny, h->nz, (long long)g.n[2], (long long)g.n[1], (long long)g.n[0]);
  RB_CHECK((h->sform_code > 0 || h->qform_code > 0) && voxels_a_mm(h, m), RB_EFORMAT,
           "%s has no affine that says where its millimetres point", path);
  RB_TRY(rb_volume_load_voxels(path, h));
  const int wide = h->datatype == DT_FLOAT64;
  int64_t bad = -1;
  for (int64_t i = 0; i < n; i++) {
    double mm[3];
    for (int c = 0; c < 3; c++)
      mm[c] = wide ? ((const double *)h->data)[c * n + i] : (double)((const float *)h->data)[c * n + i];
    for (int a = 0; a < 3; a++) u[a * n + i] = (float)(m[a][0] * mm[0] + m[a][1] * mm[1] + m[a][2] * mm[2]);
    if (bad < 0 && !(isfinite(u[i]) && isfinite(u[n + i]) && isfinite(u[2 * n + i]))) bad = i;
  }
  RB_CHECK(bad < 0, RB_EFORMAT, "%s holds a displacement that is not finite, at voxel %lld", path, (long long)bad);
done:
  if (h) nifti_image_free(h);
  return st;
}
