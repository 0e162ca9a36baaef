/* SPDX-License-Identifier: BSD-3-Clause */
/* Where voxels lie: displacement files in ITK's convention and back, images from lattice to lattice, on oblique,
 * left-handed and anisotropic affines. */
#include "datasets/displacement_file.h"
#include "datasets/world.h"
#include "kernels/base/rng.h"
#include "tests/cmocka_all.h"

#include <math.h>
#include <nifti2_io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Columns: mm right, anterior, superior a voxel along x, y, z; origin last. */
typedef double placement[3][4];
static const placement plain = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}},
                       itk = {{-1, 0, 0, 7}, {0, -1, 0, 3}, {0, 0, 2, -5}},
                       left_handed = {{-1.5, 0, 0, 20}, {0, 1, 0, -4}, {0, 0, 1.25, 2}},
                       swapped = {{0, 0, 1.1, -3}, {0.9, 0, 0, 4}, {0, -1.2, 0, 30}},
                       oblique = {{0.96, -0.336, 0, -6}, {0.28, 1.152, 0, -9}, {0, 0, 1.5, -8}};

static rb_volume volume_of(rb_grid g, const placement p) {
  const double origin[3] = {0, 0, 0};
  rb_volume v;
  assert_int_equal(rb_volume_geometry(g, 1, origin, &v), RB_OK);
  nifti_image *h = v.header;
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 4; c++) h->sto_xyz.m[r][c] = (float)p[r][c];
  h->qform_code = 0;
  for (int c = 0; c < 3; c++) {
    const double mm = sqrt(p[0][c] * p[0][c] + p[1][c] * p[1][c] + p[2][c] * p[2][c]);
    v.spacing[2 - c] = mm, h->pixdim[c + 1] = (float)mm;
  }
  h->dx = h->pixdim[1], h->dy = h->pixdim[2], h->dz = h->pixdim[3];
  return v;
}

static void shear(const void *context, const double p[3], double q[3]) {
  (void)context;
  q[0] = 1.02 * p[0] + 0.03 * p[1] + 1, q[1] = p[1] - 0.04 * p[2], q[2] = 0.97 * p[2] - 2;
}
/* One map of the world in every convention, with template and reference on one lattice: all read back as the same
 * voxels. FSL's numbers are voxel sizes times voxels, the first counted from the other end where the affine keeps
 * orientation. */
static void conventions_mean_one_map(void **s) {
  (void)s;
  const placement *const all[] = {&plain, &itk, &left_handed, &swapped, &oblique};
  const rb_grid g = rb_grid_make(7, 9, 11);
  const int64_t n = rb_grid_points(g), at = 3 * 99 + 4 * 11 + 6;
  char path[] = "/tmp/rb-world-XXXXXX.nii.gz";
  close(mkstemps(path, 7));
  float *u = malloc(3 * (size_t)n * sizeof *u);
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
    rb_volume like = volume_of(g, *all[k]);
    const rb_affine a = rb_volume_affine(&like, g);
    rb_affine back;
    const double x[3] = {6, 4, 3};
    double p[3], q[3], y[3];
    assert_true(rb_affine_inverse(&a, &back));
    rb_affine_point(&a, x, p), shear(NULL, p, q), rb_affine_point(&back, q, y);
    for (int c = RB_FIELD_ITK; c <= RB_FIELD_VOXEL; c++) {
      assert_int_equal(rb_displacement_write_map(path, &like, g, (rb_field_convention)c, &like, shear, NULL), RB_OK);
      assert_int_equal(rb_displacement_read_as(path, (rb_field_convention)c, g, u), RB_OK);
      for (int r = 0; r < 3; r++) assert_true(fabs((double)u[(2 - r) * n + at] - (y[r] - x[r])) < 1e-5);
      if (c != RB_FIELD_FSL) continue;
      nifti_image *h = nifti_image_read(path, 1);
      assert_non_null(h);
      assert_true(h->nt == 3 && h->ndim == 4);
      const double sign = rb_affine_determinant(&a) > 0 ? -1 : 1;
      for (int r = 0; r < 3; r++)
        assert_true(fabs((double)((float *)h->data)[r * n + at] -
                         (r == 0 ? sign : 1) * like.spacing[2 - r] * (y[r] - x[r])) < 1e-4);
      nifti_image_free(h);
    }
    rb_volume_free(&like);
  }
  unlink(path);
  free(u);
}

static void displacements_come_back(void **s) {
  (void)s;
  const placement *const all[] = {&plain, &itk, &left_handed, &swapped, &oblique};
  const rb_grid g = rb_grid_make(7, 9, 11);
  const int64_t n = rb_grid_points(g);
  char path[] = "/tmp/rb-world-XXXXXX.nii.gz";
  close(mkstemps(path, 7));
  float *u = malloc(3 * (size_t)n * sizeof *u), *back = malloc(3 * (size_t)n * sizeof *back);
  for (int64_t i = 0; i < 3 * n; i++) u[i] = (float)(3 * rb_rng_symmetric(5, (uint64_t)i));
  for (size_t k = 0; k <= sizeof all / sizeof *all; k++) { /* the last one has no geometry at all */
    rb_volume like = {0};
    const int known = k < sizeof all / sizeof *all;
    if (known) like = volume_of(g, *all[k]);
    assert_int_equal(rb_displacement_write(path, known ? &like : NULL, g, u), RB_OK);
    assert_int_equal(rb_displacement_read(path, g, back), RB_OK);
    for (int64_t i = 0; i < 3 * n; i++) assert_true(fabsf(back[i] - u[i]) < 1e-5f);
    nifti_image *h = nifti_image_read(path, 1);
    assert_non_null(h);
    assert_true(h->nu == 3 && h->intent_code == NIFTI_INTENT_VECTOR);
    for (int r = 0; r < 3 && known; r++) { /* by the definition: mm left, posterior, superior */
      double mm = 0;
      for (int c = 0; c < 3; c++) mm += (*all[k])[r][c] * (double)u[(2 - c) * n + 100];
      assert_true(fabs((double)((float *)h->data)[r * n + 100] - (r < 2 ? -mm : mm)) < 1e-5);
    }
    nifti_image_free(h);
    rb_volume_free(&like);
  }
  assert_int_equal(rb_displacement_read(path, rb_grid_make(7, 9, 10), back), RB_EFORMAT);
  rb_clear();
  u[n + 5] = NAN;
  assert_int_equal(rb_displacement_write(path, NULL, g, u), RB_OK);
  assert_int_equal(rb_displacement_read(path, g, back), RB_EFORMAT);
  assert_non_null(strstr(rb_message(), "not finite"));
  rb_clear();
  unlink(path);
  free(back), free(u);
}

static double in_world(const rb_volume *v, int64_t i) {
  const rb_affine a = rb_volume_affine(v, v->grid);
  const rb_grid g = v->grid;
  const double x[3] = {(double)(i % g.n[2]), (double)(i / g.n[2] % g.n[1]), (double)(i / g.n[2] / g.n[1])};
  static const double slope[3] = {0.3, -0.7, 0.2};
  double sum = 5;
  for (int r = 0; r < 3; r++) sum += slope[r] * (a.m[r][0] * x[0] + a.m[r][1] * x[1] + a.m[r][2] * x[2] + a.m[r][3]);
  return sum;
}

/* A linear function of the world is one on every lattice, and trilinear values of it are exact. */
static void images_keep_their_place(void **s) {
  (void)s;
  const placement *const all[] = {&plain, &left_handed, &swapped, &oblique};
  const placement target = {{0.5, 0, 0, 1}, {0, 0.6, 0, 0.5}, {0, 0, 0.7, 1}};
  rb_volume to = volume_of(rb_grid_make(9, 10, 12), target);
  const int64_t n = rb_grid_points(to.grid);
  float *out = malloc((size_t)n * sizeof *out);
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
    rb_volume from = volume_of(rb_grid_make(25, 26, 27), *all[k]);
    const int64_t m = rb_grid_points(from.grid);
    double covered;
    int64_t compared = 0;
    from.data = malloc((size_t)m * sizeof *from.data);
    for (int64_t i = 0; i < m; i++) from.data[i] = (float)in_world(&from, i);
    assert_int_equal(rb_volume_onto(&from, &to, NULL, RB_POINT, out, &covered), RB_OK);
    for (int64_t i = 0; i < n; i++)
      if (out[i] != 0 && fabs((double)out[i] - in_world(&to, i)) < 1e-4) compared++;
    assert_true(covered > 0.25 &&
                compared > (int64_t)(0.75 * covered * (double)n)); /* but for half a voxel at borders */
    assert_false(rb_volume_same_lattice(&from, &to));
    assert_true(rb_volume_same_lattice(&from, &from));
    rb_volume_free(&from);
  }
  /* far away nothing is left, and the distance is told */
  const placement far = {{1, 0, 0, 300}, {0, 1, 0, 0}, {0, 0, 1, 0}};
  rb_volume away = volume_of(rb_grid_make(5, 5, 5), far);
  double covered;
  away.data = calloc(125, sizeof *away.data);
  assert_int_equal(rb_volume_onto(&away, &to, NULL, RB_NEAREST, out, &covered), RB_OK);
  assert_true(covered == 0 && fabs(rb_volume_distance(&away, &to) - 298) < 2);
  rb_volume_free(&away), rb_volume_free(&to);
  free(out);
}

/* An affine that says nothing is refused, not divided by. */
static void singular(void **s) {
  (void)s;
  const placement flat = {{1, 0, 0, 0}, {0, 1, 0, 0}, {1, 1, 0, 0}};
  rb_affine inverse;
  rb_volume v = volume_of(rb_grid_make(3, 3, 3), flat);
  const rb_affine a = rb_volume_affine(&v, v.grid);
  assert_false(rb_affine_inverse(&a, &inverse));
  rb_volume_free(&v);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(displacements_come_back),
                                     cmocka_unit_test(conventions_mean_one_map),
                                     cmocka_unit_test(images_keep_their_place), cmocka_unit_test(singular)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
