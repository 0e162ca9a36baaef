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

rb_status rb_field_convention_parse(const char *name, rb_field_convention *out) {
  static const char *const names[] = {"itk", "ras", "fsl", "voxel"};
  for (int k = 0; k < 4; k++)
    if (strcmp(name, names[k]) == 0) return *out = (rb_field_convention)k, RB_OK;
  return RB_FAIL(RB_EINVAL, "unknown convention '%s' of a displacement: itk, ras, fsl, voxel", name);
}

/* A point of the world in FSL's coordinates of a volume: mm along its voxel axes. */
typedef struct {
  rb_affine to_voxels;
  double size[3], last; /* mm of a voxel along x, y, z; index of the last voxel along x */
  int turned;           /* x is counted from the other end */
} fsl_frame;
static rb_status fsl_frame_of(const rb_volume *v, rb_grid g, fsl_frame *out) {
  const rb_affine a = rb_volume_affine(v, g);
  if (!rb_affine_inverse(&a, &out->to_voxels)) return RB_FAIL(RB_EFORMAT, "an image's affine has no inverse");
  for (int c = 0; c < 3; c++)
    out->size[c] = v && v->header ? v->spacing[2 - c] * (double)v->grid.n[2 - c] / (double)g.n[2 - c] : 1;
  out->turned = rb_affine_determinant(&a) > 0, out->last = (double)(g.n[2] - 1);
  return RB_OK;
}
static void fsl_point(const fsl_frame *f, const double p[3], double x[3]) {
  rb_affine_point(&f->to_voxels, p, x);
  if (f->turned) x[0] = f->last - x[0];
  for (int c = 0; c < 3; c++) x[c] *= f->size[c];
}

rb_status rb_displacement_write_map(const char *path, const rb_volume *like, rb_grid g,
                                    rb_field_convention convention, const rb_volume *source, rb_world_map map,
                                    const void *context) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(g);
  const rb_affine a = rb_volume_affine(like, g);
  fsl_frame here = {0}, there = {0};
  float *out = malloc(3 * (size_t)n * sizeof *out);
  RB_CHECK(out, RB_ENOMEM, "host memory: %zu bytes for %s", 3 * (size_t)n * sizeof *out, path);
  RB_TRY(fsl_frame_of(like, g, &here));
  if (convention == RB_FIELD_FSL) RB_TRY(fsl_frame_of(source, source->grid, &there));
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++) {
    const double x[3] = {(double)(i % g.n[2]), (double)(i / g.n[2] % g.n[1]), (double)(i / g.n[2] / g.n[1])};
    double p[3], q[3], from[3], to[3];
    rb_affine_point(&a, x, p);
    map(context, p, q);
    if (convention == RB_FIELD_FSL) {
      fsl_point(&here, p, from), fsl_point(&there, q, to);
    } else if (convention == RB_FIELD_VOXEL) {
      memcpy(from, x, sizeof from), rb_affine_point(&here.to_voxels, q, to);
    } else {
      memcpy(from, p, sizeof from), memcpy(to, q, sizeof to);
    }
    for (int r = 0; r < 3; r++)
      out[r * n + i] = (float)((convention == RB_FIELD_ITK ? lps(r) : 1) * (to[r] - from[r]));
  }
  RB_TRY(rb_volume_write_fields(path, like, g, convention == RB_FIELD_FSL ? RB_FIELDS_4D : 3, DT_FLOAT32, out));
done:
  free(out);
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

/* Millimetres or voxels of a file to voxels of its lattice, which is the template's as well. */
static rb_status to_voxels_of(const char *path, rb_field_convention convention, const rb_volume *here,
                              rb_affine *out) {
  const rb_affine a = rb_volume_affine(here, here->grid);
  if (convention == RB_FIELD_ITK || convention == RB_FIELD_RAS) {
    if (!rb_affine_inverse(&a, out)) return RB_FAIL(RB_EFORMAT, "%s: its affine has no inverse", path);
    for (int c = 0; c < 3; c++)
      for (int r = 0; r < 2 && convention == RB_FIELD_ITK; r++) out->m[c][r] = -out->m[c][r];
    return RB_OK;
  }
  *out = rb_affine_identity();
  for (int c = 0; c < 3 && convention == RB_FIELD_FSL; c++) out->m[c][c] = 1 / here->spacing[2 - c];
  if (convention == RB_FIELD_FSL && rb_affine_determinant(&a) > 0) out->m[0][0] = -out->m[0][0];
  return RB_OK;
}

rb_status rb_displacement_read(const char *path, rb_grid g, float *u) {
  return rb_displacement_read_as(path, RB_FIELD_ITK, g, u);
}
rb_status rb_displacement_read_as(const char *path, rb_field_convention convention, rb_grid g, float *u) {
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
  RB_TRY(to_voxels_of(path, convention, &here, &to_voxels));
  RB_TRY(rb_volume_load_voxels(path, h));
  const int wide = h->datatype == DT_FLOAT64;
  int64_t bad = -1;
  for (int64_t i = 0; i < n; i++) {
    double mm[3];
    for (int c = 0; c < 3; c++)
      mm[c] = wide ? ((const double *)h->data)[c * n + i] : (double)((const float *)h->data)[c * n + i];
    for (int c = 0; c < 3; c++) {
      double sum = 0;
      for (int r = 0; r < 3; r++) sum += to_voxels.m[c][r] * mm[r];
      u[(2 - c) * n + i] = (float)sum;
    }
    if (bad < 0 && !(isfinite(u[i]) && isfinite(u[n + i]) && isfinite(u[2 * n + i]))) bad = i;
  }
  RB_CHECK(bad < 0, RB_EFORMAT, "%s holds a displacement that is not finite, at voxel %lld", path, (long long)bad);
done:
  if (h) nifti_image_free(h);
  return st;
}
