/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/inputs/brains.h"

#include "datasets/isosurface.h"
#include "datasets/manifest.h"
#include "experiments/runner/inputs/brain_variation.h"
#include "kernels/base/rng.h"
#include "solvers/common/by_displacement.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NX = 64, NY = 76, NZ = 64 };
static const double origin[3] = {-96, -132, -78}, voxel = 3;

/* ---- filters on a grid ---- */

/* Gaussian along every axis, borders repeated, cut at 4 sigma; sigma in voxels. */
static rb_status gaussian(rb_grid g, double sigma, float *f) {
  rb_status st = RB_OK;
  const int reach = (int)ceil(4 * sigma);
  const int64_t all = rb_grid_points(g);
  double weight[64], sum = 0;
  float *from = malloc((size_t)all * sizeof *from);
  RB_CHECK(from, RB_ENOMEM, "host memory");
  for (int i = -reach; i <= reach; i++) sum += weight[i + reach] = exp(-0.5 * i * i / (sigma * sigma));
  for (int axis = 0; axis < 3; axis++) {
    const int64_t n = g.n[axis], stride = axis == 0 ? g.n[1] * g.n[2] : axis == 1 ? g.n[2] : 1;
    memcpy(from, f, (size_t)all * sizeof *from);
#pragma omp parallel for schedule(static)
    for (int64_t p = 0; p < all; p++) {
      const int64_t at = p / stride % n;
      double v = 0;
      for (int i = -reach; i <= reach; i++) {
        const int64_t k = at + i < 0 ? 0 : at + i >= n ? n - 1 : at + i;
        v += weight[i + reach] * (double)from[p + (k - at) * stride];
      }
      f[p] = (float)(v / sum);
    }
  }
done:
  free(from);
  return st;
}

/* One step to the six neighbours: grow (value 1) or shrink (value 0) a mask. Beyond the grid lies nothing. */
static void step(rb_grid g, unsigned char value, const unsigned char *from, unsigned char *to) {
  const int64_t all = rb_grid_points(g), stride[3] = {g.n[1] * g.n[2], g.n[2], 1};
#pragma omp parallel for schedule(static)
  for (int64_t p = 0; p < all; p++) {
    unsigned char v = from[p];
    for (int a = 0; a < 3 && v != value; a++) {
      const int64_t at = p / stride[a] % g.n[a];
      if (at > 0 && from[p - stride[a]] == value) v = value;
      if (at < g.n[a] - 1 && from[p + stride[a]] == value) v = value;
    }
    to[p] = v;
  }
}
static rb_status close_mask(rb_grid g, int steps, unsigned char *mask) {
  const size_t all = (size_t)rb_grid_points(g);
  unsigned char *other = malloc(all);
  if (!other) return RB_FAIL(RB_ENOMEM, "host memory");
  for (int k = 0; k < 2 * steps; k++) {
    step(g, k < steps, mask, other);
    memcpy(mask, other, all);
  }
  free(other);
  return RB_OK;
}
/* What the mask encloses becomes part of it. */
static rb_status fill_mask(rb_grid g, unsigned char *mask) {
  const int64_t all = rb_grid_points(g), stride[3] = {g.n[1] * g.n[2], g.n[2], 1};
  int64_t *queue = malloc((size_t)all * sizeof *queue), first = 0, last = 0;
  if (!queue) return RB_FAIL(RB_ENOMEM, "host memory");
  for (int64_t p = 0; p < all; p++) { /* 2: outside, from the border on */
    int border = 0;
    for (int a = 0; a < 3; a++)
      border = border || p / stride[a] % g.n[a] == 0 || p / stride[a] % g.n[a] == g.n[a] - 1;
    if (border && !mask[p]) mask[p] = 2, queue[last++] = p;
  }
  while (first < last) {
    const int64_t p = queue[first++];
    for (int a = 0; a < 3; a++)
      for (int side = -1; side <= 1; side += 2) {
        const int64_t at = p / stride[a] % g.n[a] + side, q = p + side * stride[a];
        if (at >= 0 && at < g.n[a] && !mask[q]) mask[q] = 2, queue[last++] = q;
      }
  }
  for (int64_t p = 0; p < all; p++) mask[p] = mask[p] != 2;
  free(queue);
  return RB_OK;
}

/* ---- files ---- */

static rb_status open_file(const char *set, const char *file, rb_volume *out) {
  rb_status st = RB_OK;
  rb_manifest *m = NULL;
  char path[4096];
  RB_TRY(rb_manifest_load(set, &m));
  RB_TRY(rb_manifest_path(m, file, path, sizeof path));
  st = rb_volume_read(path, out);
  if (st == RB_ENOTFOUND) {
    rb_clear();
    st = RB_FAIL(RB_ENOTFOUND, "%s of data set %s is absent (regbench data import %s FOLDER)", file, set, set);
  }
done:
  rb_manifest_free(m);
  return st;
}

/* v at a place of its world: trilinear, or the nearest voxel's; 0 outside. */
static double at_world(const rb_volume *v, const rb_affine *to_voxels, const double w[3], int nearest) {
  double x[3], t[3], sum = 0;
  int64_t b[3];
  for (int r = 0; r < 3; r++) {
    x[r] = to_voxels->m[r][0] * w[0] + to_voxels->m[r][1] * w[1] + to_voxels->m[r][2] * w[2] + to_voxels->m[r][3];
    if (nearest) x[r] = floor(x[r] + 0.5);
    b[r] = (int64_t)floor(x[r]), t[r] = x[r] - floor(x[r]);
  }
  for (int c = 0; c < 8; c++) {
    const int64_t i = b[0] + (c & 1), j = b[1] + (c >> 1 & 1), k = b[2] + (c >> 2);
    const double weight = (c & 1 ? t[0] : 1 - t[0]) * (c & 2 ? t[1] : 1 - t[1]) * (c & 4 ? t[2] : 1 - t[2]);
    if (weight > 0 && i >= 0 && j >= 0 && k >= 0 && i < v->grid.n[2] && j < v->grid.n[1] && k < v->grid.n[0])
      sum += weight * (double)v->data[(k * v->grid.n[1] + j) * v->grid.n[2] + i];
  }
  return sum;
}

/* The neonate's world of the adult's, by least squares on tissue, cerebellum and csf. */
static void into_neonate(const double x[3], double out[3]) {
  static const double m[3][3] = {{.635435, -.005837, -.008569},
                                 {.002721, .620825, -.11468},
                                 {.001424, .044538, .617204}},
                      centre[3] = {.735, -21.907, 9.197}, to[3] = {.452, -21.090, 14.076};
  for (int r = 0; r < 3; r++) {
    out[r] = to[r];
    for (int c = 0; c < 3; c++) out[r] += m[r][c] * (x[c] - centre[c]);
  }
}

/* v on the grid of 3 mm. */
static rb_status onto_grid(const rb_volume *v, int neonate, int nearest, float *out) {
  const rb_affine world = rb_volume_affine(v, v->grid);
  rb_affine inverse;
  if (!rb_affine_inverse(&world, &inverse)) return RB_FAIL(RB_EFORMAT, "an image's affine has no inverse");
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < (int64_t)NX * NY * NZ; i++) {
    const double here[3] = {origin[0] + voxel * (double)(i % NX), origin[1] + voxel * (double)(i / NX % NY),
                            origin[2] + voxel * (double)(i / NX / NY)};
    double w[3] = {here[0], here[1], here[2]};
    if (neonate) into_neonate(here, w);
    out[i] = (float)at_world(v, &inverse, w, nearest);
  }
  return RB_OK;
}

/* ---- the two heads ---- */

/* SPM's priors smoothed by 1 mm; where AAL has a cerebellum (91 and above), tissue is the cerebellum's. */
static rb_status adult(const rb_grid g, float *classes) {
  static const char *const files[] = {"spm_white.nii.gz", "spm_grey.nii.gz", "spm_csf.nii.gz"};
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(g);
  rb_volume v = {0};
  unsigned char *mask = malloc((size_t)n);
  float *cb = classes + 3 * n;
  RB_CHECK(mask, RB_ENOMEM, "host memory");
  for (int k = 0; k < 3; k++) {
    RB_TRY(open_file("adult", files[k], &v));
    RB_TRY(gaussian(v.grid, 1 / v.spacing[2], v.data));
    RB_TRY(onto_grid(&v, 0, 0, classes + k * n));
    rb_volume_free(&v);
  }
  RB_TRY(open_file("colin27", "aal.nii.gz", &v));
  RB_TRY(onto_grid(&v, 0, 1, cb));
  for (int64_t i = 0; i < n; i++) mask[i] = cb[i] >= 91;
  RB_TRY(close_mask(g, 2, mask));
  for (int64_t i = 0; i < n; i++) cb[i] = mask[i];
  RB_TRY(gaussian(g, 0.7, cb));
  for (int64_t i = 0; i < n; i++) {
    const float tissue = classes[i] + classes[n + i];
    classes[i] *= 1 - cb[i], classes[n + i] *= 1 - cb[i], cb[i] *= tissue;
  }
done:
  rb_volume_free(&v);
  free(mask);
  return st;
}

/* M-CRIB's maps smoothed by 1.2 voxels; deep grey and brain stem, which the maps lack, are what the filled hull of
 * all tissue holds besides, and count as grey. */
static rb_status neonate(const rb_grid g, float *classes) {
  static const char *const files[] = {"mcrib_wm.nii.gz", "mcrib_gm.nii.gz", "mcrib_csf.nii.gz",
                                      "mcrib_cerebellum.nii.gz"};
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(g);
  rb_volume v = {0};
  float *sum = NULL;
  unsigned char *mask = NULL;
  for (int k = 0; k < RB_BRAIN_CLASSES; k++) {
    rb_volume_free(&v);
    RB_TRY(open_file("infant", files[k], &v));
    RB_TRY(gaussian(v.grid, 1.2, v.data));
    RB_TRY(onto_grid(&v, 1, 0, classes + k * n));
    const int64_t all = rb_grid_points(v.grid);
    if (!sum) sum = calloc((size_t)all, sizeof *sum), mask = malloc((size_t)all);
    RB_CHECK(sum && mask, RB_ENOMEM, "host memory");
    for (int64_t i = 0; i < all; i++) sum[i] += v.data[i];
  }
  const int64_t all = rb_grid_points(v.grid);
  for (int64_t i = 0; i < all; i++) mask[i] = sum[i] > 0.5f;
  RB_TRY(close_mask(v.grid, 10, mask));
  RB_TRY(fill_mask(v.grid, mask));
  for (int64_t i = 0; i < all; i++) v.data[i] = mask[i] && 1 - sum[i] > 0.3f ? 1 - sum[i] : 0;
  float *rest = sum; /* done with */
  RB_TRY(onto_grid(&v, 1, 0, rest));
  for (int64_t i = 0; i < n; i++) classes[n + i] += rest[i];
done:
  free(mask), free(sum);
  rb_volume_free(&v);
  return st;
}

/* ---- individuals ---- */

static const char *const prefix = "brains";
static const char *subject_of(const char *data) {
  return data[strlen(prefix)] == '-' ? data + strlen(prefix) + 1 : NULL;
}
int rb_brain_data(const char *data) {
  return strncmp(data, prefix, strlen(prefix)) == 0 && (!data[strlen(prefix)] || subject_of(data));
}

/* count images [n] of the atlases in an individual's shape; where `data` names none, as they are. */
static rb_status into_shape(const char *data, rb_grid g, const rb_volume *like, int count, float *images) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(g);
  const char *subject = subject_of(data);
  float *u = NULL, *moved = NULL;
  if (!subject) return RB_OK;
  u = malloc(3 * (size_t)n * sizeof *u), moved = malloc((size_t)n * sizeof *moved);
  RB_CHECK(u && moved, RB_ENOMEM, "host memory");
  RB_TRY(rb_brain_variation(subject, g, like, u));
  for (int k = 0; k < count; k++) {
    RB_TRY(rb_displaced_image(g, u, images + k * n, moved));
    memcpy(images + k * n, moved, (size_t)n * sizeof *moved);
  }
done:
  free(moved), free(u);
  return st;
}

/* No probability below 0 or above 1, no sum above 1. */
static void make_probabilities(int64_t n, float *classes) {
  for (int64_t i = 0; i < n; i++) {
    float sum = 0;
    for (int k = 0; k < RB_BRAIN_CLASSES; k++) sum += classes[k * n + i] = fmaxf(0, classes[k * n + i]);
    for (int k = 0; k < RB_BRAIN_CLASSES && sum > 1; k++) classes[k * n + i] /= sum;
  }
}

/* Surfaces of the most probable wm, gm and cerebellum, smoothed by a voxel. */
static rb_status make_surfaces(rb_anatomy *a, const float *classes) {
  static const int of[3] = {0, 1, 3};
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(a->grid);
  const rb_affine world = rb_volume_affine(&a->like, a->grid);
  float *mask = malloc((size_t)n * sizeof *mask);
  a->mesh = calloc(3, sizeof *a->mesh);
  RB_CHECK(mask && a->mesh, RB_ENOMEM, "host memory");
  a->surfaces = 3;
  for (int k = 0; k < 3; k++) {
    for (int64_t i = 0; i < n; i++) mask[i] = rb_most_probable(n, RB_BRAIN_CLASSES, classes, i) == of[k];
    RB_TRY(gaussian(a->grid, 1, mask));
    RB_TRY(rb_isosurface(a->grid, mask, 0.5, &world, 0, &a->mesh[k]));
  }
  RB_TRY(rb_anatomy_place(a));
done:
  free(mask);
  return st;
}

rb_status rb_brain(const char *data, int which, rb_anatomy *out, float **classes) {
  rb_status st = RB_OK;
  const rb_grid g = rb_grid_make(NZ, NY, NX);
  const int64_t n = rb_grid_points(g);
  float *c = calloc(RB_BRAIN_CLASSES * (size_t)n, sizeof *c);
  *out = (rb_anatomy){.grid = g, .channels = 3};
  *classes = NULL;
  RB_CHECK(c, RB_ENOMEM, "host memory");
  RB_TRY(rb_volume_geometry(g, voxel, origin, &out->like));
  RB_TRY(which ? adult(g, c) : neonate(g, c));
  RB_TRY(into_shape(data, g, &out->like, RB_BRAIN_CLASSES, c));
  make_probabilities(n, c);
  out->posteriors = malloc(3 * (size_t)n * sizeof *out->posteriors);
  RB_CHECK(out->posteriors, RB_ENOMEM, "host memory");
  memcpy(out->posteriors, c, 3 * (size_t)n * sizeof *c);
  for (int64_t i = 0; i < n; i++) out->posteriors[n + i] += c[3 * n + i];
  RB_TRY(make_surfaces(out, c));
  *classes = c;
  c = NULL;
done:
  free(c);
  if (st != RB_OK) rb_anatomy_free(out);
  return st;
}

/* ---- intensities ---- */

static rb_status adult_intensities(const char *data, const float *classes, float *image) {
  rb_status st = RB_OK;
  const rb_grid g = rb_grid_make(NZ, NY, NX);
  const int64_t n = rb_grid_points(g);
  rb_volume v = {0}, like = {0};
  float most = 0;
  RB_TRY(open_file("adult", "mni152_t1.nii.gz", &v));
  RB_TRY(onto_grid(&v, 0, 0, image));
  RB_TRY(rb_volume_geometry(g, voxel, origin, &like));
  RB_TRY(into_shape(data, g, &like, 1, image));
  for (int64_t i = 0; i < n; i++) {
    float inside = 0;
    for (int k = 0; k < RB_BRAIN_CLASSES; k++) inside += classes[k * n + i];
    image[i] = inside > 0.5f ? fmaxf(image[i], 0) : 0;
    most = fmaxf(most, image[i]);
  }
  for (int64_t i = 0; i < n; i++) image[i] /= most > 0 ? most : 1;
done:
  rb_volume_free(&v), rb_volume_free(&like);
  return st;
}

static void neonate_intensities(int64_t n, const float *classes, float *image) {
  static const double myelinated[3] = {0, -20, 5}, width = 22;
  for (int64_t i = 0; i < n; i++) {
    const double x[3] = {origin[0] + voxel * (double)(i % NX), origin[1] + voxel * (double)(i / NX % NY),
                         origin[2] + voxel * (double)(i / NX / NY)};
    double r = 0;
    for (int a = 0; a < 3; a++) r += (x[a] - myelinated[a]) * (x[a] - myelinated[a]);
    const double wm = 0.4 + 0.4 * exp(-0.5 * r / (width * width)),
                 value = wm * (double)classes[i] + 0.55 * (double)classes[n + i] + 0.15 * (double)classes[2 * n + i] +
                         0.6 * (double)classes[3 * n + i] + 0.015 * sqrt(3) * rb_rng_symmetric(29, (uint64_t)i);
    image[i] = (float)fmin(fmax(value, 0), 1);
  }
}

rb_status rb_brain_intensities(const char *data, int which, const float *classes, float **out) {
  rb_status st = RB_OK;
  const int64_t n = (int64_t)NX * NY * NZ;
  float *image = malloc((size_t)n * sizeof *image);
  *out = NULL;
  RB_CHECK(image, RB_ENOMEM, "host memory");
  if (which)
    RB_TRY(adult_intensities(data, classes, image));
  else
    neonate_intensities(n, classes, image);
  *out = image;
  image = NULL;
done:
  free(image);
  return st;
}
