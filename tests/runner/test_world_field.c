/* SPDX-License-Identifier: BSD-3-Clause */
/* What displacement files make of images, labels and points, on oblique and unequal lattices; and distances between
 * borders by formula. */
#include "datasets/displacement_file.h"
#include "experiments/runner/inputs/world_field.h"
#include "kernels/base/rng.h"
#include "solvers/common/border_distance.h"
#include "tests/ok.h"

#include <math.h>
#include <nifti2_io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A lattice turned about z and y, left-handed where `flip`; steps of 2, 1.5 and 1.2 mm. */
static void make_lattice(rb_grid g, int flip, double turn, rb_volume *out) {
  const double c = cos(turn), s = sin(turn), step[3] = {2, 1.5, flip ? -1.2 : 1.2};
  const double m[3][3] = {{c, -s, 0}, {s * c, c * c, -s}, {s * s, c * s, c}};
  const double origin[3] = {0, 0, 0};
  ok(rb_volume_geometry(g, 1, origin, out));
  nifti_image *h = out->header;
  for (int r = 0; r < 3; r++)
    for (int k = 0; k < 4; k++) h->sto_xyz.m[r][k] = (float)(k < 3 ? m[r][k] * step[k] : 5.0 * r - 20);
  h->sform_code = 1, h->qform_code = 0;
  h->dx = h->pixdim[1] = 2, h->dy = h->pixdim[2] = 1.5f, h->dz = h->pixdim[3] = 1.2f;
  out->spacing[0] = 1.2, out->spacing[1] = 1.5, out->spacing[2] = 2;
}

/* A file of a displacement of up to two voxels, and the field as it is read. */
static void make_field(rb_grid g, int flip, double phase, rb_world_field *out) {
  char path[] = "/tmp/rb-field-XXXXXX.nii.gz";
  const int64_t n = rb_grid_points(g);
  rb_volume lattice;
  const int file = mkstemps(path, 7);
  assert_true(file >= 0);
  close(file);
  make_lattice(g, flip, 0.3, &lattice);
  float *u = malloc(3 * (size_t)n * sizeof *u);
  for (int64_t i = 0; i < n; i++) {
    const double x[3] = {(double)(i / g.n[2] / g.n[1]), (double)(i / g.n[2] % g.n[1]), (double)(i % g.n[2])};
    for (int a = 0; a < 3; a++) u[a * n + i] = (float)(2 * sin(0.2 * x[a] + phase) * cos(0.15 * x[(a + 1) % 3] + a));
  }
  ok(rb_displacement_write(path, &lattice, g, u));
  ok(rb_world_field_read(path, out));
  assert_memory_equal(&out->lattice.grid, &g, sizeof g);
  for (int64_t i = 0; i < 3 * n; i++) assert_true(fabs((double)(u[i] - out->u[i])) < 1e-5);
  free(u), rb_volume_free(&lattice), unlink(path);
}

/* The k-th of points well inside a field, in the world. */
static void inner_point(const rb_world_field *f, int k, double p[3]) {
  double v[3]; /* NIfTI's order */
  for (int a = 0; a < 3; a++)
    v[a] = (0.5 + 0.25 * rb_rng_symmetric(3, (uint64_t)(3 * k + a))) * (double)f->lattice.grid.n[2 - a];
  for (int r = 0; r < 3; r++)
    p[r] = f->to_world.m[r][0] * v[0] + f->to_world.m[r][1] * v[1] + f->to_world.m[r][2] * v[2] + f->to_world.m[r][3];
}

static void points_go_and_come_back(void **state) {
  (void)state;
  rb_world_field f[2];
  make_field(rb_grid_make(24, 30, 20), 0, 0.4, &f[0]), make_field(rb_grid_make(26, 28, 22), 1, 1.3, &f[1]);
  for (int count = 1; count <= 2; count++)
    for (int k = 0; k < 200; k++) {
      double p[3], q[3], back[3], one[3];
      inner_point(&f[0], k, p);
      rb_world_move(count, f, p, q);
      assert_true(rb_world_find(count, f, q, back) < 1e-4);
      double moved = 0, off = 0;
      for (int a = 0; a < 3; a++) moved += fabs(q[a] - p[a]), off = fmax(off, fabs(back[a] - p[a]));
      assert_true(off < 1e-3);
      if (count == 2) { /* the first moves what lies in the reference */
        rb_world_move(1, &f[0], p, one);
        rb_world_move(1, &f[1], one, back);
        for (int a = 0; a < 3; a++) assert_true(back[a] == q[a]);
      } else {
        assert_true(moved > 1e-3);
      }
    }
  /* far away nothing moves */
  const double far[3] = {1e4, 0, 0};
  double q[3];
  rb_world_move(2, f, far, q);
  assert_memory_equal(q, far, sizeof far);
  rb_world_field_free(&f[0]), rb_world_field_free(&f[1]);
}

/* A linear function of the world, which linear and cubic interpolation give exactly. */
static double in_world(const double p[3]) { return 3 + 0.5 * p[0] - 0.25 * p[1] + 0.125 * p[2]; }
static void place(const rb_affine *a, rb_grid g, int64_t i, double p[3]) {
  const double v[3] = {(double)(i % g.n[2]), (double)(i / g.n[2] % g.n[1]), (double)(i / g.n[2] / g.n[1])};
  for (int r = 0; r < 3; r++) p[r] = a->m[r][0] * v[0] + a->m[r][1] * v[1] + a->m[r][2] * v[2] + a->m[r][3];
}

/* Image and points stay together: at p of the reference stands what the template has where p is moved to; with
 * `inverse`, at p of the template what the reference has where p is found. */
static void images_follow(void **state) {
  (void)state;
  rb_world_field f;
  rb_volume image, like;
  rb_carried r;
  make_field(rb_grid_make(24, 30, 20), 1, 0.4, &f);
  make_lattice(rb_grid_make(40, 40, 40), 1, 0.1, &image), make_lattice(rb_grid_make(16, 18, 14), 1, 0.5, &like);
  image.data = malloc((size_t)rb_grid_points(image.grid) * sizeof(float));
  const rb_affine of_image = rb_volume_affine(&image, image.grid), of_like = rb_volume_affine(&like, like.grid);
  rb_affine to_image;
  double p[3], q[3];
  for (int64_t i = 0; i < rb_grid_points(image.grid); i++)
    place(&of_image, image.grid, i, p), image.data[i] = (float)in_world(p);
  assert_true(rb_affine_inverse(&of_image, &to_image));
  const int64_t n = rb_grid_points(like.grid);
  float *out = malloc((size_t)n * sizeof *out);
  for (int inverse = 0; inverse < 2; inverse++)
    for (rb_carry how = RB_CARRY_LINEAR; how <= RB_CARRY_CUBIC; how++) {
      int looked_at = 0;
      ok(rb_carry_image(1, &f, inverse, &image, &like, how, out, &r));
      for (int64_t i = 0; i < n; i++) {
        double v[3];
        int inside = 1;
        place(&of_like, like.grid, i, p);
        if (inverse)
          rb_world_find(1, &f, p, q);
        else
          rb_world_move(1, &f, p, q);
        for (int a = 0; a < 3; a++) {
          v[a] = to_image.m[a][0] * q[0] + to_image.m[a][1] * q[1] + to_image.m[a][2] * q[2] + to_image.m[a][3];
          inside = inside && v[a] > 2 && v[a] < 37;
        }
        if (!inside) continue;
        assert_true(fabs((double)out[i] - in_world(q)) < 1e-3);
        looked_at++;
      }
      assert_true(looked_at > n / 20);
      assert_true(r.outside < n && r.worst < 1e-3 && r.lost == 0);
    }
  free(out), free(image.data), image.data = NULL;
  rb_volume_free(&like), rb_volume_free(&image), rb_world_field_free(&f);
}

/* Labels: nearest gives that of the nearest voxel, labels that with most weight; neither invents one. */
static void labels_stay_labels(void **state) {
  (void)state;
  const rb_grid g = rb_grid_make(12, 12, 12);
  const int64_t n = rb_grid_points(g);
  rb_world_field f;
  rb_volume image;
  rb_carried r;
  float *out = malloc((size_t)n * sizeof *out);
  make_field(g, 0, 0.1, &f), make_lattice(g, 0, 0.3, &image);
  image.data = malloc((size_t)n * sizeof(float));
  for (int64_t i = 0; i < n; i++) image.data[i] = i / 12 % 12 < 6 ? 17 : 4; /* halves along y */
  for (int a = 0; a < 3; a++)
    for (int64_t i = 0; i < n; i++) f.u[a * n + i] = a == 1 ? 0.4f : 0; /* the half's border moves by none */
  for (rb_carry how = RB_CARRY_NEAREST; how <= RB_CARRY_LABELS; how++) {
    ok(rb_carry_image(1, &f, 0, &image, &image, how, out, &r));
    for (int64_t i = 0; i < n; i++)
      assert_true(out[i] == (r.outside && i / 12 % 12 == 11 && out[i] == 0 ? 0 : image.data[i]));
  }
  for (int64_t i = 0; i < n; i++) f.u[n + i] = 0.6f; /* by one */
  ok(rb_carry_image(1, &f, 0, &image, &image, RB_CARRY_LABELS, out, &r));
  for (int64_t i = 0; i < n; i++)
    if (i / 12 % 12 < 11) assert_true(out[i] == (i / 12 % 12 < 5 ? 17 : 4));
  free(out), rb_volume_free(&image), rb_world_field_free(&f);
}

static rb_border_distance between(rb_grid g, const double spacing[3], const float *a, const float *b, int label) {
  rb_label_box box[8];
  rb_border_distance d;
  rb_label_boxes(g, a, b, 8, box);
  ok(rb_border_distance_of(g, spacing, a, b, (float)label, &box[label], &d));
  return d;
}

/* Two boxes, one moved: borders by hand. */
static void borders(void **state) {
  (void)state;
  const rb_grid g = rb_grid_make(10, 12, 14);
  const double spacing[3] = {3, 2, 1};
  static float a[10 * 12 * 14], b[10 * 12 * 14];
  rb_border_distance d;
  for (int64_t i = 0; i < rb_grid_points(g); i++) {
    const int64_t x = i / 14 / 12, y = i / 14 % 12, z = i % 14;
    a[i] = x >= 2 && x < 5 && y >= 2 && y < 6 && z >= 3 && z < 8 ? 7 : 0;
    b[i] = x >= 2 && x < 5 && y >= 2 && y < 6 && z >= 6 && z < 11 ? 7 : 0;
  }
  d = between(g, spacing, a, a, 7);
  assert_true(d.hd95 == 0 && d.mean == 0 && d.largest == 0);
  d = between(g, spacing, a, b, 7);
  assert_true(fabs(d.largest - 3) < 1e-12 && fabs(d.hd95 - 3) < 1e-12 && d.mean > 0 && d.mean < 3);
  d = between(g, spacing, a, b, 5);
  assert_true(isnan(d.hd95) && isnan(d.mean));
  rb_label_box box[8];
  rb_label_boxes(g, a, b, 8, box);
  assert_true(box[7].in[0] == 60 && box[7].in[1] == 60 && box[0].in[0] == rb_grid_points(g) - 60);
  assert_true(box[7].low[0] == 2 && box[7].high[0] == 4 && box[7].low[2] == 3 && box[7].high[2] == 10);
  assert_true(box[5].in[0] == 0 && box[5].in[1] == 0);
  /* against all pairs, of two rough regions */
  for (int64_t i = 0; i < rb_grid_points(g); i++)
    a[i] = rb_rng_symmetric(1, (uint64_t)i) > 0.8, b[i] = rb_rng_symmetric(2, (uint64_t)i) > 0.9;
  double largest = 0;
  for (int way = 0; way < 2; way++)
    for (int64_t i = 0; i < rb_grid_points(g); i++) {
      double nearest = INFINITY;
      if ((way ? b : a)[i] != 1) continue;
      for (int64_t j = 0; j < rb_grid_points(g); j++)
        if ((way ? a : b)[j] == 1)
          nearest = fmin(nearest, pow(3.0 * (double)(i / 14 / 12 - j / 14 / 12), 2) +
                                      pow(2.0 * (double)(i / 14 % 12 - j / 14 % 12), 2) +
                                      pow((double)(i % 14 - j % 14), 2));
      largest = fmax(largest, sqrt(nearest));
    }
  d = between(g, spacing, a, b, 1); /* so sparse that all voxels are border */
  assert_true(fabs(d.largest - largest) < 1e-9 && d.hd95 <= d.largest && d.mean <= d.hd95);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(points_go_and_come_back), cmocka_unit_test(images_follow),
                                     cmocka_unit_test(labels_stay_labels), cmocka_unit_test(borders)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
