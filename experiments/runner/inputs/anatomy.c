/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/inputs/anatomy.h"

#include "datasets/isosurface.h"
#include "datasets/mesh_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void rb_anatomy_free(rb_anatomy *a) {
  for (int k = 0; k < a->surfaces && a->mesh; k++) rb_mesh_free(&a->mesh[k]);
  for (int k = 0; k < a->surfaces && a->surface; k++) free((double *)a->surface[k].x);
  free(a->mesh), free(a->surface), free(a->posteriors);
  rb_volume_free(&a->like);
  *a = (rb_anatomy){0};
}

/* ---- posteriors ---- */

static rb_status check_probabilities(const char *path, int64_t n, const float *p, float *sum) {
  rb_status st = RB_OK;
  for (int64_t i = 0; i < n; i++) {
    RB_CHECK(p[i] >= -1e-3f && p[i] <= 1.001f, RB_EINVAL, "%s holds %g: posteriors are probabilities in [0, 1]", path,
             (double)p[i]);
    sum[i] += p[i];
  }
done:
  return st;
}

static rb_status read_posterior(const char *path, const rb_volume *like, rb_anatomy *out, int k) {
  rb_status st = RB_OK;
  rb_volume v = {0};
  double covered = 1;
  const int64_t n = rb_grid_points(out->grid);
  RB_TRY(rb_volume_read(path, &v));
  if (like) {
    RB_TRY(rb_volume_onto(&v, like, NULL, RB_ANTIALIAS, out->posteriors + k * n, &covered));
    RB_CHECK(covered >= 0.1, RB_EINVAL,
             "%s holds %.2g %% of where the reference's posteriors lie in the world; align them first", path,
             100 * covered);
  } else {
    RB_CHECK(rb_volume_same_lattice(&v, &out->like), RB_EINVAL,
             "%s is not on the grid of the first posterior: all of a subject's lie on one", path);
    memcpy(out->posteriors + k * n, v.data, (size_t)n * sizeof *v.data);
  }
done:
  rb_volume_free(&v);
  return st;
}

static rb_status read_posteriors(const char *const *paths, int channels, const rb_volume *like, rb_anatomy *out) {
  rb_status st = RB_OK;
  float *sum = NULL;
  RB_CHECK(channels > 0, RB_EINVAL, "one posterior at least: they have the grid");
  RB_TRY(rb_volume_read(paths[0], &out->like));
  free(out->like.data);
  out->like.data = NULL;
  out->grid = like ? like->grid : out->like.grid;
  const int64_t n = rb_grid_points(out->grid);
  out->channels = channels;
  out->posteriors = malloc((size_t)channels * (size_t)n * sizeof *out->posteriors);
  sum = calloc((size_t)n, sizeof *sum);
  RB_CHECK(out->posteriors && sum, RB_ENOMEM, "host memory: posteriors");
  for (int k = 0; k < channels; k++) {
    RB_TRY(read_posterior(paths[k], like, out, k));
    RB_TRY(check_probabilities(paths[k], n, out->posteriors + k * n, sum));
  }
  for (int64_t i = 0; i < n; i++)
    RB_CHECK(sum[i] <= 1.01f, RB_EINVAL, "the posteriors from %s on add up to %g in a voxel; to 1 at most", paths[0],
             (double)sum[i]);
done:
  free(sum);
  return st;
}

/* ---- surfaces ---- */

/* World mm to voxels along x1, x2, x3: the file's z, y, x. */
static rb_status into_voxels(const rb_affine *world, const rb_mesh *mesh, rb_surface *out) {
  rb_status st = RB_OK;
  rb_affine inverse;
  const int64_t n = mesh->vertices;
  double *x = malloc(3 * (size_t)n * sizeof *x);
  RB_CHECK(x, RB_ENOMEM, "host memory");
  RB_CHECK(rb_affine_inverse(world, &inverse), RB_EFORMAT, "the posteriors' affine has no inverse");
  for (int64_t v = 0; v < n; v++)
    for (int r = 0; r < 3; r++)
      x[(2 - r) * n + v] = inverse.m[r][0] * mesh->x[v] + inverse.m[r][1] * mesh->x[n + v] +
                           inverse.m[r][2] * mesh->x[2 * n + v] + inverse.m[r][3];
  *out = (rb_surface){n, mesh->faces, x, mesh->face};
  x = NULL;
done:
  free(x);
  return st;
}

/* A surface belongs to the grid when half of its vertices lie on it; kernels are round when voxels are cubes. */
static rb_status check_place(const char *name, const rb_anatomy *a, const rb_volume *on, const rb_surface *s) {
  rb_status st = RB_OK;
  int64_t off = 0;
  for (int64_t v = 0; v < s->vertices; v++) {
    int there = 1;
    for (int k = 0; k < 3; k++)
      there = there && s->x[k * s->vertices + v] >= -0.5 && s->x[k * s->vertices + v] <= (double)a->grid.n[k] - 0.5;
    off += !there;
  }
  RB_CHECK(2 * off <= s->vertices, RB_EINVAL,
           "%s: %lld of %lld vertices lie off the posteriors' grid: surface and images are not in one space", name,
           (long long)off, (long long)s->vertices);
  for (int k = 0; k < 2; k++)
    RB_CHECK(fabs(on->spacing[k] / on->spacing[2] - 1) < 0.01, RB_EINVAL,
             "voxels of %g x %g x %g mm: bring the posteriors to cubes, so that the surfaces' kernel is round",
             on->spacing[2], on->spacing[1], on->spacing[0]);
done:
  return st;
}

static rb_status place_surfaces(rb_anatomy *a, const rb_volume *on, const char *const *names) {
  rb_status st = RB_OK;
  const rb_affine world = rb_volume_affine(on, a->grid);
  a->surface = calloc((size_t)a->surfaces + 1, sizeof *a->surface);
  RB_CHECK(a->surface, RB_ENOMEM, "host memory");
  for (int k = 0; k < a->surfaces; k++) {
    RB_TRY(into_voxels(&world, &a->mesh[k], &a->surface[k]));
    RB_TRY(check_place(names ? names[k] : "a surface", a, on, &a->surface[k]));
  }
done:
  return st;
}

rb_status rb_anatomy_place(rb_anatomy *a) { return place_surfaces(a, &a->like, NULL); }

rb_status rb_anatomy_read(const char *const *posteriors, int channels, const char *const *surfaces, int count,
                          const rb_volume *like, rb_anatomy *out) {
  rb_status st = RB_OK;
  rb_mesh_report r;
  *out = (rb_anatomy){0};
  RB_TRY(read_posteriors(posteriors, channels, like, out));
  out->mesh = calloc((size_t)count + 1, sizeof *out->mesh);
  RB_CHECK(out->mesh, RB_ENOMEM, "host memory");
  out->surfaces = count;
  for (int k = 0; k < count; k++) {
    RB_TRY(rb_mesh_read(surfaces[k], &out->mesh[k]));
    RB_TRY(rb_mesh_measure(&out->mesh[k], &r));
    RB_CHECK(r.turned == 0, RB_EFORMAT, "%s: neighbouring faces differ in orientation at %lld edges", surfaces[k],
             (long long)r.turned);
  }
  RB_TRY(place_surfaces(out, like ? like : &out->like, surfaces));
done:
  if (st != RB_OK) rb_anatomy_free(out);
  return st;
}

void rb_anatomy_to_world(const rb_anatomy *a, int64_t n, double *x) {
  const rb_affine w = rb_volume_affine(&a->like, a->grid);
  for (int64_t v = 0; v < n; v++) {
    const double p[3] = {x[2 * n + v], x[n + v], x[v]};
    for (int r = 0; r < 3; r++) x[r * n + v] = w.m[r][0] * p[0] + w.m[r][1] * p[1] + w.m[r][2] * p[2] + w.m[r][3];
  }
}
rb_subject rb_anatomy_subject(const rb_anatomy *a) {
  return (rb_subject){.image = a->posteriors, .surfaces = a->surface};
}
rb_problem_shape rb_anatomy_shape(const rb_anatomy *moving, const rb_anatomy *fixed) {
  rb_problem_shape s = {
      .grid = fixed->grid, .channels = fixed->channels, .templates = 1, .surfaces = fixed->surfaces};
  for (int k = 0; k < fixed->surfaces; k++) {
    s.vertices += moving->surface[k].vertices;
    s.faces += moving->surface[k].faces + fixed->surface[k].faces;
  }
  return s;
}

/* ---- a phantom ---- */

/* 1 inside, 0 outside, over a width of some two voxels; d: signed distance, negative inside. */
static double inside(double d, double voxel) { return 1 / (1 + exp(d / (0.5 * voxel))); }
/* Signed distance, nearly, to an ellipsoid whose radius waves by `wave` of itself. */
static double ellipsoid(const double p[3], const double centre[3], const double radius[3], double wave) {
  double d[3], r = 0, mean = (radius[0] + radius[1] + radius[2]) / 3;
  for (int k = 0; k < 3; k++) d[k] = (p[k] - centre[k]) / radius[k], r += d[k] * d[k];
  r = sqrt(r);
  const double turn = atan2(d[1], d[0]), rise = r > 0 ? asin(fmax(-1, fmin(1, d[2] / r))) : 0;
  return mean * (r - 1 - wave * sin(7 * turn) * cos(5 * rise));
}

static rb_status phantom_surfaces(rb_anatomy *a, const float *cerebellum) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(a->grid);
  const rb_affine world = rb_volume_affine(&a->like, a->grid);
  float *brain = malloc((size_t)n * sizeof *brain);
  RB_CHECK(brain, RB_ENOMEM, "host memory");
  for (int64_t i = 0; i < n; i++) brain[i] = a->posteriors[i] + a->posteriors[n + i];
  a->mesh = calloc(3, sizeof *a->mesh);
  RB_CHECK(a->mesh, RB_ENOMEM, "host memory");
  a->surfaces = 3;
  RB_TRY(rb_isosurface(a->grid, a->posteriors, 0.5, &world, 0, &a->mesh[0]));
  RB_TRY(rb_isosurface(a->grid, brain, 0.5, &world, 0, &a->mesh[1]));
  RB_TRY(rb_isosurface(a->grid, cerebellum, 0.5, &world, 0, &a->mesh[2]));
  RB_TRY(rb_anatomy_place(a));
done:
  free(brain);
  return st;
}

static int64_t shortest(rb_grid g) {
  const int64_t n = g.n[0] < g.n[1] ? g.n[0] : g.n[1];
  return n < g.n[2] ? n : g.n[2];
}
double rb_anatomy_phantom_voxel(rb_grid grid) { return 192.0 / (double)shortest(grid); }

rb_status rb_anatomy_phantom(rb_grid g, int which, rb_anatomy *out) {
  rb_status st = RB_OK;
  const double h = rb_anatomy_phantom_voxel(g);
  double origin[3]; /* x, y, z lie along x3, x2, x1 */
  for (int k = 0; k < 3; k++) origin[k] = -95 - h * (double)(g.n[2 - k] - shortest(g)) / 2;
  /* mm: the head's skull, grey and white matter, and the cerebellum below and behind */
  const double skull[2][3] = {{58, 70, 56}, {68, 82, 64}}, grey[2][3] = {{50, 62, 46}, {62, 75, 57}},
               white[2][3] = {{38, 50, 34}, {50, 62, 45}}, small[2][3] = {{20, 12, 10}, {32, 19, 16}};
  const double centre[3] = {0, 0, 5}, below[2][3] = {{0, -34, -42}, {0, -40, -48}};
  float *cerebellum = NULL;
  *out = (rb_anatomy){.grid = g, .channels = 3};
  const int64_t n = rb_grid_points(out->grid);
  RB_TRY(rb_volume_geometry(out->grid, h, origin, &out->like));
  out->posteriors = malloc(3 * (size_t)n * sizeof *out->posteriors);
  cerebellum = malloc((size_t)n * sizeof *cerebellum);
  RB_CHECK(out->posteriors && cerebellum, RB_ENOMEM, "host memory");
  for (int64_t i = 0; i < n; i++) {
    const double p[3] = {origin[0] + h * (double)(i % g.n[2]), origin[1] + h * (double)(i / g.n[2] % g.n[1]),
                         origin[2] + h * (double)(i / g.n[2] / g.n[1])};
    const double cb = inside(ellipsoid(p, below[which], small[which], 0.02), h),
                 wm = inside(ellipsoid(p, centre, white[which], 0.10), h) * (1 - cb),
                 brain = fmax(wm, inside(ellipsoid(p, centre, grey[which], 0.05), h) * (1 - cb)),
                 all = fmax(brain + cb, inside(ellipsoid(p, (const double[]){0, -6, -6}, skull[which], 0), h));
    cerebellum[i] = (float)cb;
    out->posteriors[i] = (float)wm;
    out->posteriors[n + i] = (float)(brain - wm + cb);
    out->posteriors[2 * n + i] = (float)(all - brain - cb);
  }
  RB_TRY(phantom_surfaces(out, cerebellum));
done:
  free(cerebellum);
  if (st != RB_OK) rb_anatomy_free(out);
  return st;
}

/* ---- overlaps ---- */

int rb_most_probable(int64_t n, int channels, const float *p, int64_t i) {
  int best = channels;
  float rest = 1, most;
  for (int k = 0; k < channels; k++) rest -= p[k * n + i];
  most = rest;
  for (int k = 0; k < channels; k++)
    if (p[k * n + i] > most) most = p[k * n + i], best = k;
  return best;
}

void rb_class_overlaps(rb_grid grid, int channels, const float *moved, const float *fixed, rb_class_overlap *out) {
  const int64_t n = rb_grid_points(grid);
  for (int c = 0; c < channels + 2; c++) {
    int64_t a = 0, b = 0, both = 0;
#pragma omp parallel for schedule(static) reduction(+ : a, b, both)
    for (int64_t i = 0; i < n; i++) {
      const int m = rb_most_probable(n, channels, moved, i), f = rb_most_probable(n, channels, fixed, i);
      const int in_m = c <= channels ? m == c : m < 2, in_f = c <= channels ? f == c : f < 2;
      a += in_m, b += in_f, both += in_m && in_f;
    }
    out[c] = (rb_class_overlap){2.0 * (double)both / (double)(a + b), (double)both / (double)(a + b - both),
                                (double)both / (double)b};
  }
}
