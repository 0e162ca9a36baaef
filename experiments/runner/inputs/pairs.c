/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/inputs/pairs.h"

#include "datasets/manifest.h"
#include "datasets/phantom.h"
#include "datasets/world.h"
#include "experiments/runner/inputs/host_apply.h"
#include "kernels/registry/registry.h"
#include "kernels/transport/transport.h"
#include "solvers/common/overlap.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

rb_status rb_resampling_parse(const char *name, rb_resampling *out) {
  *out = strcmp(name, "point") == 0 ? RB_POINT : RB_ANTIALIAS;
  if (strcmp(name, "point") != 0 && strcmp(name, "antialias") != 0)
    return RB_FAIL(RB_EINVAL, "unknown resampling '%s': antialias, point", name);
  return RB_OK;
}

void rb_pair_free(rb_pair *p) {
  for (int i = 0; i < 2; i++) free(p->image[i]), free(p->labels[i]);
  rb_volume_free(&p->like);
  memset(p, 0, sizeof *p);
}

static int same_grid(rb_grid a, rb_grid b) { return memcmp(&a, &b, sizeof a) == 0; }

static int whole_numbers(const rb_volume *v) {
  for (int64_t i = 0; i < rb_grid_points(v->grid); i++)
    if (v->data[i] != floorf(v->data[i])) return 0;
  return 1;
}

/* An image of whole numbers stays one, as resampling in a file's own integer type leaves it. */
static rb_status brought_to(const rb_volume *v, rb_resampling how, rb_grid grid, float **out) {
  rb_status st = RB_OK;
  int64_t n = rb_grid_points(grid);
  *out = malloc((size_t)n * sizeof **out);
  RB_CHECK(*out, RB_ENOMEM, "host memory: %zu bytes for an image", (size_t)n * sizeof **out);
  if (same_grid(v->grid, grid)) {
    memcpy(*out, v->data, (size_t)n * sizeof **out);
    return RB_OK;
  }
  RB_TRY(rb_resample(how, v->grid, v->data, grid, *out));
  if (how == RB_ANTIALIAS && whole_numbers(v))
    for (int64_t i = 0; i < n; i++) (*out)[i] = floorf((*out)[i] + 0.5f);
done:
  return st;
}

static const char *last_part(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static rb_status check_same_grid(const rb_volume v[2], const char *const images[2]) {
  if (same_grid(v[0].grid, v[1].grid)) return RB_OK;
  return RB_FAIL(RB_EINVAL, "%s is %lldx%lldx%lld and %s %lldx%lldx%lld; bring both to one grid with --size",
                 images[0], (long long)v[0].grid.n[2], (long long)v[0].grid.n[1], (long long)v[0].grid.n[0],
                 images[1], (long long)v[1].grid.n[2], (long long)v[1].grid.n[1], (long long)v[1].grid.n[0]);
}

/* v on the lattice of `like`; its own header stays. */
static rb_status placed(rb_volume *v, const rb_volume *like, rb_resampling how, double *covered) {
  rb_status st = RB_OK;
  const size_t bytes = (size_t)rb_grid_points(like->grid) * sizeof(float);
  const int whole = how != RB_NEAREST && whole_numbers(v);
  float *there = malloc(bytes);
  RB_CHECK(there, RB_ENOMEM, "host memory: %zu bytes for an image", bytes);
  RB_TRY(rb_volume_onto(v, like, how, there, covered));
  for (int64_t i = 0; whole && i < rb_grid_points(like->grid); i++) there[i] = floorf(there[i] + 0.5f);
  free(v->data);
  v->data = there, v->grid = like->grid;
  there = NULL;
done:
  free(there);
  return st;
}

/* Template and its labels (NULL: none) onto the reference's lattice, in the world. */
static rb_status place_in_world(rb_volume v[2], rb_volume *labels, const char *const images[2], rb_resampling how) {
  rb_status st = RB_OK;
  double covered = 1;
  if (!rb_volume_affine(&v[0], v[0].grid).known || !rb_volume_affine(&v[1], v[1].grid).known ||
      rb_volume_same_lattice(&v[0], &v[1]))
    return RB_OK;
  const double apart = rb_volume_distance(&v[0], &v[1]);
  if (labels) RB_TRY(placed(labels, &v[1], RB_NEAREST, &covered));
  RB_TRY(placed(&v[0], &v[1], how, &covered));
  RB_CHECK(
      covered >= 0.1, RB_EINVAL,
      "%s holds %.2g %% of where %s lies in the world (their centres are %.3g mm apart): align them first, or say "
      "--ignore-geometry to register them as they lie in memory",
      images[0], 100 * covered, images[1], apart);
done:
  return st;
}

rb_status rb_pair_read(const char *const images[2], const char *const labels[2], rb_placing placing,
                       rb_resampling how, rb_grid grid, rb_pair *out) {
  rb_status st = RB_OK;
  rb_volume v[2] = {{{{0}}, NULL, {0}, NULL}, {{{0}}, NULL, {0}, NULL}},
            l[2] = {{{{0}}, NULL, {0}, NULL}, {{{0}}, NULL, {0}, NULL}};
  memset(out, 0, sizeof *out);
  for (int i = 0; i < 2; i++) {
    RB_TRY(rb_volume_read(images[i], &v[i]));
    snprintf(out->file[i], sizeof out->file[i], "%.127s", last_part(images[i]));
    for (char *s = out->file[i]; *s; s++) /* records are UTF-8, file names need not be */
      if ((unsigned char)*s >= 128) *s = '?';
    RB_TRY(rb_sha256_file(images[i], out->sha256[i]));
    if (!labels || !labels[i]) continue;
    RB_TRY(rb_volume_read(labels[i], &l[i]));
    RB_CHECK(same_grid(l[i].grid, v[i].grid), RB_EINVAL, "labels %s and image %s differ in size", labels[i],
             images[i]);
    const int64_t bad = rb_overlap_first_bad(rb_grid_points(l[i].grid), l[i].data);
    RB_CHECK(bad < 0, RB_EINVAL, "labels %s hold %g; whole numbers from 0 to 255 work", labels[i],
             (double)l[i].data[bad]);
  }
  if (placing == RB_IN_WORLD) RB_TRY(place_in_world(v, l[0].data ? &l[0] : NULL, images, how));
  if (grid.n[0] == 0) {
    RB_TRY(check_same_grid(v, images));
    grid = v[1].grid;
  }
  out->grid = grid;
  for (int i = 0; i < 2; i++) {
    RB_TRY(brought_to(&v[i], how, grid, &out->image[i]));
    if (l[i].data) RB_TRY(brought_to(&l[i], RB_NEAREST, grid, &out->labels[i]));
  }
  out->like = v[1];
  memset(&v[1], 0, sizeof v[1]);
done:
  for (int i = 0; i < 2; i++) rb_volume_free(&v[i]), rb_volume_free(&l[i]);
  if (st != RB_OK) rb_pair_free(out);
  return st;
}

void rb_pair_flow(rb_grid g, float *v) {
  int64_t n = rb_grid_points(g);
#pragma omp parallel for schedule(static)
  for (int64_t p = 0; p < n; p++) {
    double x[3] = {(double)(p / g.n[2] / g.n[1]) * rb_grid_spacing(g, 0),
                   (double)(p / g.n[2] % g.n[1]) * rb_grid_spacing(g, 1),
                   (double)(p % g.n[2]) * rb_grid_spacing(g, 2)};
    for (int a = 0; a < 3; a++)
      v[a * n + p] = (float)(0.15 * sin(x[a]) * cos(x[(a + 1) % 3]) + 0.1 * cos(x[(a + 2) % 3] + a));
  }
}

/* reference <- template under the flow, by the exact B-spline in four steps; labels by their indicator with the
 * largest value. */
static rb_status flow_reference(rb_pair *p) {
  rb_status st = RB_OK;
  int64_t n = rb_grid_points(p->grid);
  size_t bytes = (size_t)n * sizeof(float);
  const rb_variant *variant;
  rb_transport_plan *t = NULL;
  rb_transport_desc d = {.grid = p->grid, .dtype = RB_F32, .steps = 4, .basis = RB_BSPLINE, .scheme = RB_FD8};
  float most = 0, *v = malloc(3 * bytes), *one = malloc(bytes), *best = malloc(bytes);
  RB_CHECK(v && one && best, RB_ENOMEM, "host memory");
  rb_pair_flow(p->grid, v);
  RB_TRY(rb_variant_find(&rb_transport_family, "cpu/composed", &variant));
  RB_TRY(rb_variant_find(&rb_interp_family, "cpu/omp", &d.interp));
  RB_TRY(rb_variant_find(&rb_derivative_family, "cpu/omp", &d.derivative));
  RB_TRY(rb_variant_find(&rb_field_family, "cpu/omp", &d.field));
  RB_TRY(rb_transport_create(variant, &d, &t));
  RB_TRY(rb_transport_velocity(t, rb_array_host(RB_F32, 3 * n, v)));
  memcpy(p->image[RB_REFERENCE], p->image[RB_TEMPLATE], bytes);
  RB_TRY(rb_transport_advect(t, rb_array_host(RB_F32, n, p->image[RB_REFERENCE])));
  /* overshoots at edges would stretch the range to which solvers scale: both images keep the template's */
  for (int64_t i = 0; i < n; i++) most = fmaxf(most, p->image[RB_TEMPLATE][i]);
  for (int64_t i = 0; i < n; i++) p->image[RB_REFERENCE][i] = fminf(fmaxf(p->image[RB_REFERENCE][i], 0), most);
  if (!p->labels[0]) goto done;
  for (int64_t i = 0; i < n; i++) best[i] = -INFINITY;
  for (int l = 0; l < 256; l++) {
    int present = 0;
    for (int64_t i = 0; i < n; i++) present |= (one[i] = p->labels[0][i] == (float)l) > 0;
    if (!present) continue;
    RB_TRY(rb_transport_advect(t, rb_array_host(RB_F32, n, one)));
    for (int64_t i = 0; i < n; i++)
      if (one[i] > best[i]) best[i] = one[i], p->labels[1][i] = (float)l;
  }
done:
  rb_transport_destroy(t);
  free(best), free(one), free(v);
  return st;
}

static rb_status synthetic(const char *name, rb_resampling how, rb_grid grid, rb_pair *out) {
  rb_status st = RB_OK;
  size_t bytes = (size_t)rb_grid_points(grid) * sizeof(float);
  rb_manifest *m = NULL;
  char path[PATH_MAX];
  out->grid = grid;
  if (strcmp(name, "phantom") == 0) {
    for (int i = 0; i < 2; i++) {
      out->image[i] = malloc(bytes), out->labels[i] = malloc(bytes);
      RB_CHECK(out->image[i] && out->labels[i], RB_ENOMEM, "host memory");
      snprintf(out->file[i], sizeof out->file[i], "phantom%s", i ? " under a known flow" : "");
    }
    rb_phantom_head(grid, out->image[0], out->labels[0]);
  } else {
    RB_TRY(rb_manifest_load(name, &m));
    RB_CHECK(m->image, RB_EINVAL, "data set %s names no image to register", name);
    RB_CHECK(rb_manifest_present(m), RB_ENOTFOUND, "data set %s is absent (%s)", name,
             m->package ? m->package : "regbench data import");
    RB_TRY(rb_manifest_path(m, m->image, path, sizeof path));
    const char *twice[2] = {path, path};
    RB_TRY(rb_pair_read(twice, NULL, RB_AS_THEY_LIE, how, grid, out));
    snprintf(out->file[1], sizeof out->file[1], "%.100s under a known flow", out->file[0]);
  }
  RB_TRY(flow_reference(out));
done:
  rb_manifest_free(m);
  if (st != RB_OK) rb_pair_free(out);
  return st;
}

rb_status rb_pair_load(const char *name, rb_resampling how, rb_grid grid, rb_pair *out) {
  rb_status st = RB_OK;
  rb_manifest *m = NULL;
  const rb_manifest_pair *pair;
  char paths[4][PATH_MAX];
  memset(out, 0, sizeof *out);
  if (strcmp(name, "phantom") == 0) return synthetic(name, how, grid, out);
  if (rb_manifest_of_pair(name, &m, &pair) != RB_OK) {
    rb_clear();
    return synthetic(name, how, grid, out);
  }
  const char *files[4] = {pair->template_image, pair->reference, pair->template_labels, pair->reference_labels};
  for (int i = 0; i < 4; i++)
    if (files[i]) RB_TRY(rb_manifest_path(m, files[i], paths[i], sizeof paths[i]));
  RB_CHECK(rb_data_present(name), RB_ENOTFOUND,
           "data set %s is absent, or files of its pair %s (regbench data import %s FOLDER)", m->name, name, m->name);
  const char *images[2] = {paths[0], paths[1]}, *labels[2] = {files[2] ? paths[2] : NULL, files[3] ? paths[3] : NULL};
  RB_TRY(rb_pair_read(images, labels, RB_AS_THEY_LIE, how, grid, out));
done:
  rb_manifest_free(m);
  return st;
}
