/* SPDX-License-Identifier: BSD-3-Clause */
#include "datasets/displacement_file.h"

#include "datasets/input_file.h"
#include "datasets/nifti_header.h"
#include "datasets/volume_voxels.h"
#include "datasets/world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* mm to the left and posterior are the negative of NIfTI's right and anterior. */
static double lps(int r) { return r < 2 ? -1 : 1; }

rb_status rb_displacement_write(const char *path, const rb_volume *like, rb_grid g, const float *u) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(g);
  const rb_affine a = rb_volume_affine(like, g);
  float *mm = malloc(3 * (size_t)n * sizeof *mm);
  RB_CHECK(mm, RB_ENOMEM, "host memory: %zu bytes for %s", 3 * (size_t)n * sizeof *mm, path);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++)
    for (int r = 0; r < 3; r++) {
      double sum = 0;
      for (int c = 0; c < 3; c++) sum += a.m[r][c] * (double)u[(2 - c) * n + i]; /* our axis 2 - c is NIfTI's c */
      mm[r * n + i] = (float)(lps(r) * sum);
    }
  RB_TRY(rb_volume_write_fields(path, like, g, 3, DT_FLOAT32, mm));
done:
  free(mm);
  return st;
}

rb_status rb_displacement_lattice(const char *path, rb_volume *out) {
  rb_status st = RB_OK;
  nifti_image *h = NULL;
  *out = (rb_volume){0};
  nifti_set_debug_level(0);
  RB_TRY(rb_input_file(path));
  RB_TRY(rb_nifti_header_check(path));
  h = nifti_image_read(path, 0);
  RB_CHECK(
      h && h->nx > 0 && h->ny > 0 && h->nz > 0 && (h->nu == 3 || h->nt == 3) && h->nvox == 3 * h->nx * h->ny * h->nz,
      RB_EFORMAT, "%s is no displacement: a 5D NIfTI file of three components", path);
  out->grid = rb_grid_make(h->nz, h->ny, h->nx);
  out->spacing[0] = fabs(h->dz), out->spacing[1] = fabs(h->dy), out->spacing[2] = fabs(h->dx);
  out->header = h;
  h = NULL;
done:
  if (h) nifti_image_free(h);
  return st;
}

rb_status rb_displacement_read(const char *path, rb_grid g, float *u) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(g);
  rb_affine to_voxels;
  nifti_image *h = NULL;
  nifti_set_debug_level(0);
  RB_TRY(rb_input_file(path));
  RB_TRY(rb_nifti_header_check(path));
  h = nifti_image_read(path, 0);
  RB_CHECK(
      h && (h->datatype == DT_FLOAT32 || h->datatype == DT_FLOAT64) && h->nvox == 3 * n && (h->nu == 3 || h->nt == 3),
      RB_EFORMAT, "%s is no field of three float components on a grid of %lldx%lldx%lld", path, (long long)g.n[2],
      (long long)g.n[1], (long long)g.n[0]);
  RB_CHECK(h->nx == g.n[2] && h->ny == g.n[1] && h->nz == g.n[0], RB_EFORMAT,
           "%s is %lldx%lldx%lld, the reference %lldx%lldx%lld: a displacement has the reference's grid", path,
           (long long)h->nx, (long long)h->ny, (long long)h->nz, (long long)g.n[2], (long long)g.n[1],
           (long long)g.n[0]);
  const rb_volume here = {.grid = g, .spacing = {fabs(h->dz), fabs(h->dy), fabs(h->dx)}, .header = h};
  const rb_affine a = rb_volume_affine(&here, g);
  RB_CHECK(rb_affine_inverse(&a, &to_voxels), RB_EFORMAT, "%s: its affine has no inverse", path);
  RB_TRY(rb_volume_load_voxels(path, h));
  const int wide = h->datatype == DT_FLOAT64;
  int64_t bad = -1;
  for (int64_t i = 0; i < n; i++) {
    double mm[3];
    for (int c = 0; c < 3; c++)
      mm[c] = wide ? ((const double *)h->data)[c * n + i] : (double)((const float *)h->data)[c * n + i];
    for (int c = 0; c < 3; c++) {
      double sum = 0;
      for (int r = 0; r < 3; r++) sum += to_voxels.m[c][r] * lps(r) * mm[r];
      u[(2 - c) * n + i] = (float)sum;
    }
    if (bad < 0 && !(isfinite(u[i]) && isfinite(u[n + i]) && isfinite(u[2 * n + i]))) bad = i;
  }
  RB_CHECK(bad < 0, RB_EFORMAT, "%s holds a displacement that is not finite, at voxel %lld", path, (long long)bad);
done:
  if (h) nifti_image_free(h);
  return st;
}
