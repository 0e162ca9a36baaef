/* SPDX-License-Identifier: BSD-3-Clause */
#include "datasets/world.h"

#include <math.h>
#include <nifti2_io.h>
#include <stdlib.h>
#include <string.h>

rb_affine rb_volume_affine(const rb_volume *v, rb_grid g) {
  const nifti_image *h = v ? v->header : NULL;
  rb_affine a = {.known = h && (h->sform_code > 0 || h->qform_code > 0)};
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 4; c++)
      a.m[r][c] = a.known              ? (h->sform_code > 0 ? h->sto_xyz : h->qto_xyz).m[r][c]
                  : c == r && (v && h) ? (r < 2 ? -1 : 1) * v->spacing[2 - r]
                  : c == r             ? (r < 2 ? -1 : 1)
                                       : 0;
  if (!h) return a;
  for (int c = 0; c < 3;
       c++) { /* voxels of the new lattice are s times as large; the first centre moves by half of it */
    const double s = (double)v->grid.n[2 - c] / (double)g.n[2 - c];
    for (int r = 0; r < 3; r++) a.m[r][3] += (0.5 * s - 0.5) * a.m[r][c], a.m[r][c] *= s;
  }
  return a;
}

int rb_affine_inverse(const rb_affine *a, rb_affine *out) {
  double det = 0;
  *out = (rb_affine){.known = a->known};
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 3; c++) { /* the inverse is the transposed matrix of cofactors over the determinant */
      const int r1 = (r + 1) % 3, r2 = (r + 2) % 3, c1 = (c + 1) % 3, c2 = (c + 2) % 3;
      out->m[c][r] = a->m[r1][c1] * a->m[r2][c2] - a->m[r1][c2] * a->m[r2][c1];
    }
  for (int c = 0; c < 3; c++) det += a->m[0][c] * out->m[c][0];
  if (!(fabs(det) > 1e-12) || !isfinite(det)) return 0;
  for (int r = 0; r < 3; r++) {
    for (int c = 0; c < 3; c++) out->m[r][c] /= det;
    out->m[r][3] = -(out->m[r][0] * a->m[0][3] + out->m[r][1] * a->m[1][3] + out->m[r][2] * a->m[2][3]);
  }
  return 1;
}

rb_affine rb_affine_identity(void) {
  return (rb_affine){.m = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}, .known = 1};
}
double rb_affine_determinant(const rb_affine *a) {
  double det = 0;
  for (int c = 0; c < 3; c++) {
    const int c1 = (c + 1) % 3, c2 = (c + 2) % 3;
    det += a->m[0][c] * (a->m[1][c1] * a->m[2][c2] - a->m[1][c2] * a->m[2][c1]);
  }
  return det;
}
rb_affine rb_affine_product(const rb_affine *b, const rb_affine *a) {
  rb_affine p = {.known = 1};
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 4; c++) {
      p.m[r][c] = c == 3 ? b->m[r][3] : 0;
      for (int k = 0; k < 3; k++) p.m[r][c] += b->m[r][k] * a->m[k][c];
    }
  return p;
}
void rb_affine_point(const rb_affine *a, const double x[3], double y[3]) {
  for (int r = 0; r < 3; r++) y[r] = a->m[r][0] * x[0] + a->m[r][1] * x[1] + a->m[r][2] * x[2] + a->m[r][3];
}

/* Voxels of `like` to voxels of v on its lattice `g`, NIfTI's order; through `map` between the worlds, or NULL. */
static rb_status voxels_to_voxels(const rb_volume *v, rb_grid g, const rb_volume *like, const rb_affine *map,
                                  rb_affine *out) {
  const rb_affine lattice = rb_volume_affine(like, like->grid), to = rb_volume_affine(v, g),
                  from = map ? rb_affine_product(map, &lattice) : lattice;
  rb_affine inverse;
  if (!rb_affine_inverse(&to, &inverse)) return RB_FAIL(RB_EFORMAT, "an image's affine has no inverse");
  *out = rb_affine_product(&inverse, &from);
  return RB_OK;
}

int rb_volume_same_lattice(const rb_volume *a, const rb_volume *b) {
  rb_affine t;
  if (memcmp(&a->grid, &b->grid, sizeof a->grid) != 0 || voxels_to_voxels(a, a->grid, b, NULL, &t) != RB_OK) {
    rb_clear();
    return 0;
  }
  for (int corner = 0; corner < 8; corner++) {
    double x[3], y[3];
    for (int k = 0; k < 3; k++) x[k] = corner >> k & 1 ? (double)(a->grid.n[2 - k] - 1) : 0;
    rb_affine_point(&t, x, y);
    for (int k = 0; k < 3; k++)
      if (!(fabs(y[k] - x[k]) <= 0.01)) return 0;
  }
  return 1;
}

double rb_volume_distance(const rb_volume *a, const rb_volume *b) {
  const rb_volume *v[2] = {a, b};
  double centre[2][3], squared = 0;
  for (int i = 0; i < 2; i++) {
    const rb_affine m = rb_volume_affine(v[i], v[i]->grid);
    const double x[3] = {0.5 * (double)(v[i]->grid.n[2] - 1), 0.5 * (double)(v[i]->grid.n[1] - 1),
                         0.5 * (double)(v[i]->grid.n[0] - 1)};
    rb_affine_point(&m, x, centre[i]);
  }
  for (int k = 0; k < 3; k++) squared += pow(centre[1][k] - centre[0][k], 2);
  return sqrt(squared);
}

rb_status rb_volume_with_affine(const rb_volume *v, const rb_affine *a, rb_volume *out) {
  rb_status st = RB_OK;
  const double origin[3] = {0, 0, 0};
  rb_volume made;
  RB_TRY(rb_volume_geometry(v->grid, 1, origin, &made));
  nifti_image *h = made.header;
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 4; c++) h->sto_xyz.m[r][c] = a->m[r][c];
  h->sform_code = NIFTI_XFORM_SCANNER_ANAT, h->qform_code = NIFTI_XFORM_UNKNOWN;
  for (int c = 0; c < 3; c++) {
    made.spacing[2 - c] = sqrt(pow(a->m[0][c], 2) + pow(a->m[1][c], 2) + pow(a->m[2][c], 2));
    h->pixdim[c + 1] = made.spacing[2 - c];
  }
  h->dx = h->pixdim[1], h->dy = h->pixdim[2], h->dz = h->pixdim[3];
  made.data = v->data;
  *out = made;
done:
  return st;
}

double rb_volume_forms_apart(const rb_volume *v) {
  const nifti_image *h = v->header;
  double most = 0;
  if (!h || h->sform_code <= 0 || h->qform_code <= 0) return 0;
  for (int corner = 0; corner < 8; corner++) {
    double squared = 0;
    for (int r = 0; r < 3; r++) {
      double d = h->sto_xyz.m[r][3] - h->qto_xyz.m[r][3];
      for (int k = 0; k < 3; k++)
        d += (h->sto_xyz.m[r][k] - h->qto_xyz.m[r][k]) * (corner >> k & 1 ? (double)(v->grid.n[2 - k] - 1) : 0);
      squared += d * d;
    }
    most = fmax(most, sqrt(squared));
  }
  return most;
}

rb_status rb_volume_centre(const rb_volume *v, double out[3]) {
  const rb_affine a = rb_volume_affine(v, v->grid);
  const rb_grid g = v->grid;
  double mass = 0, x[3] = {0, 0, 0};
  for (int64_t i = 0; i < rb_grid_points(g); i++) {
    const double m = fmax(0, (double)v->data[i]);
    mass += m, x[0] += m * (double)(i % g.n[2]), x[1] += m * (double)(i / g.n[2] % g.n[1]),
        x[2] += m * (double)(i / g.n[2] / g.n[1]);
  }
  if (!(mass > 0)) return RB_FAIL(RB_EINVAL, "an image without a value above 0 has no centre of mass");
  for (int k = 0; k < 3; k++) x[k] /= mass;
  rb_affine_point(&a, x, out);
  return RB_OK;
}

/* f at voxel p (NIfTI's order) of g; 0 outside of all voxels. Between the outermost centres and the voxels' edges the
 * value at the border holds. */
static float value_at(rb_grid g, const float *f, const double p[3], int nearest) {
  int64_t at[3];
  double t[3], sum = 0;
  for (int k = 0; k < 3; k++) { /* our axis k is NIfTI's 2 - k */
    const double most = (double)(g.n[k] - 1), x = fmin(fmax(p[2 - k], 0), most);
    at[k] = nearest ? (int64_t)floor(x + 0.5) : (int64_t)fmin(floor(x), fmax(most - 1, 0));
    t[k] = nearest ? 0 : x - (double)at[k];
  }
  for (int corner = 0; corner < 8; corner++) {
    double w = 1;
    int64_t i = 0;
    for (int k = 0; k < 3; k++) {
      const int up = corner >> k & 1;
      w *= up ? t[k] : 1 - t[k];
      i = i * g.n[k] + at[k] + (up && at[k] + 1 < g.n[k]);
    }
    if (w != 0) sum += w * (double)f[i];
  }
  return (float)sum;
}

rb_status rb_volume_onto(const rb_volume *v, const rb_volume *like, const rb_affine *map, rb_resampling how,
                         float *out, double *covered) {
  rb_status st = RB_OK;
  const rb_grid to = like->grid;
  const int64_t n = rb_grid_points(to);
  rb_grid g = v->grid;
  rb_affine t;
  int64_t inside = 0;
  float *reduced = NULL;
  RB_TRY(voxels_to_voxels(v, g, like, map, &t));
  if (how == RB_ANTIALIAS) { /* how far a step of `like` goes in voxels of v */
    for (int k = 0; k < 3; k++) {
      const double step = sqrt(pow(t.m[k][0], 2) + pow(t.m[k][1], 2) + pow(t.m[k][2], 2));
      if (step > 2) g.n[2 - k] = (int64_t)fmax(1, rint((double)v->grid.n[2 - k] / step));
    }
    if (memcmp(&g, &v->grid, sizeof g) != 0) {
      reduced = malloc((size_t)rb_grid_points(g) * sizeof *reduced);
      RB_CHECK(reduced, RB_ENOMEM, "host memory: %zu bytes for an image",
               (size_t)rb_grid_points(g) * sizeof *reduced);
      RB_TRY(rb_resample(RB_ANTIALIAS, v->grid, v->data, g, reduced));
      RB_TRY(voxels_to_voxels(v, g, like, map, &t));
    }
  }
  const float *f = reduced ? reduced : v->data;
#pragma omp parallel for schedule(static) reduction(+ : inside)
  for (int64_t i = 0; i < n; i++) {
    const double x[3] = {(double)(i % to.n[2]), (double)(i / to.n[2] % to.n[1]), (double)(i / to.n[2] / to.n[1])};
    double p[3];
    rb_affine_point(&t, x, p);
    int within = 1;
    for (int k = 0; k < 3; k++) within = within && p[k] >= -0.5 && p[k] <= (double)g.n[2 - k] - 0.5;
    out[i] = within ? value_at(g, f, p, how == RB_NEAREST) : 0;
    inside += within;
  }
  *covered = (double)inside / (double)n;
done:
  free(reduced);
  return st;
}
