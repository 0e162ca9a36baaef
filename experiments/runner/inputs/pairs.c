/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/inputs/pairs.h"

#include "datasets/input_notes.h"
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
  for (int i = 0; i < 2; i++) {
    free(p->image[i]), free(p->labels[i]);
    rb_volume_free(&p->files[i]), rb_volume_free(&p->maps[i]);
  }
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

/* v on the lattice of `like`, without a header. */
static rb_status placed(const rb_volume *v, const rb_volume *like, const rb_affine *map, rb_resampling how,
                        rb_volume *out, double *covered) {
  rb_status st = RB_OK;
  const size_t bytes = (size_t)rb_grid_points(like->grid) * sizeof(float);
  const int whole = how != RB_NEAREST && whole_numbers(v);
  out->grid = like->grid;
  out->data = malloc(bytes);
  RB_CHECK(out->data, RB_ENOMEM, "host memory: %zu bytes for an image", bytes);
  RB_TRY(rb_volume_onto(v, like, map, how, out->data, covered));
  for (int64_t i = 0; whole && i < rb_grid_points(like->grid); i++) out->data[i] = floorf(out->data[i] + 0.5f);
done:
  return st;
}

/* The affine asked for, and after it the shift that lays the template's centre of mass onto the reference's. */
static rb_status align(const rb_pair_request *r, const rb_volume v[2], rb_affine *out) {
  rb_status st = RB_OK;
  double centre[2][3], there[3];
  *out = r->affine ? *r->affine : rb_affine_identity();
  if (!r->centre) return RB_OK;
  for (int k = 0; k < 2; k++) RB_TRY(rb_volume_centre(&v[k], centre[k]));
  rb_affine_point(out, centre[RB_REFERENCE], there);
  for (int k = 0; k < 3; k++) out->m[k][3] += centre[RB_TEMPLATE][k] - there[k];
done:
  return st;
}

/* Template and its labels (without voxels: none) onto the reference's lattice, in the world; nothing is made where
 * they lie on it. */
static rb_status place_in_world(const rb_pair_request *r, const rb_volume v[2], const rb_volume *labels,
                                const rb_affine *map, rb_volume *image_there, rb_volume *labels_there,
                                int *in_world) {
  rb_status st = RB_OK;
  double covered = 1;
  const int aligned = r->affine || r->centre;
  *in_world = aligned || (rb_volume_affine(&v[0], v[0].grid).known && rb_volume_affine(&v[1], v[1].grid).known);
  if (!*in_world || (!aligned && rb_volume_same_lattice(&v[0], &v[1]))) return RB_OK;
  const double apart = rb_volume_distance(&v[0], &v[1]);
  if (labels->data) RB_TRY(placed(labels, &v[1], map, RB_NEAREST, labels_there, &covered));
  RB_TRY(placed(&v[0], &v[1], map, r->how, image_there, &covered));
  RB_CHECK(
      covered >= 0.1, RB_EINVAL,
      "%s holds %.2g %% of where %s lies in the world (their centres are %.3g mm apart): align them by --center or "
      "--affine FILE, or say --ignore-geometry to register them as they lie in memory",
      r->images[0], 100 * covered, r->images[1], apart);
done:
  return st;
}

/* Solvers take what is below 0 for nothing, or clip it. Before an image is placed: what lies around it is 0. */
static void raise(rb_volume *v, float *least) {
  const int64_t n = rb_grid_points(v->grid);
  for (int64_t i = 0; i < n; i++) *least = fminf(*least, v->data[i]);
  for (int64_t i = 0; i < n && *least < 0; i++) v->data[i] -= *least;
}

static rb_status read_files(const rb_pair_request *r, int i, rb_volume *image, rb_volume *labels, rb_pair *out) {
  rb_status st = RB_OK;
  const char *name = r->images[i], *map = r->labels[i];
  RB_TRY(rb_note_input(name));
  RB_TRY(rb_volume_read(name, image));
  snprintf(out->file[i], sizeof out->file[i], "%.127s", last_part(name));
  for (char *s = out->file[i]; *s; s++) /* records are UTF-8, file names need not be */
    if ((unsigned char)*s >= 128) *s = '?';
  RB_TRY(rb_sha256_file(name, out->sha256[i]));
  if (r->raise) raise(image, &out->least[i]);
  if (!map) return RB_OK;
  RB_TRY(rb_note_input(map));
  RB_TRY(rb_volume_read(map, labels));
  RB_CHECK(same_grid(labels->grid, image->grid), RB_EINVAL, "labels %s and image %s differ in size", map, name);
  const int64_t bad = rb_overlap_first_bad(rb_grid_points(labels->grid), labels->data);
  RB_CHECK(bad < 0, RB_EINVAL, "labels %s hold %g; whole numbers from 0 to 255 work", map, (double)labels->data[bad]);
done:
  return st;
}

/* The grid asked for, by its points or by the size of its voxels, else the reference's. */
static rb_status grid_of(const rb_pair_request *r, const rb_volume *template_there, const rb_volume *reference,
                         rb_grid *out) {
  rb_status st = RB_OK;
  const rb_volume both[2] = {*template_there, *reference};
  *out = r->grid;
  if (r->grid.n[0]) return RB_OK;
  *out = reference->grid;
  for (int k = 0; k < 3 && r->voxel[0] > 0; k++) { /* our axis k is NIfTI's 2 - k */
    out->n[k] = (int64_t)rint((double)reference->grid.n[k] * reference->spacing[k] / r->voxel[2 - k]);
    RB_CHECK(out->n[k] >= 4 && out->n[k] <= 4096, RB_EINVAL,
             "--spacing %g mm makes %lld voxels along %c of %s; from 4 to 4096 work", r->voxel[2 - k],
             (long long)out->n[k], "zyx"[k], r -> images[1]);
  }
  if (!(r->voxel[0] > 0)) RB_TRY(check_same_grid(both, r->images));
done:
  return st;
}

rb_status rb_pair_read(const rb_pair_request *r, rb_pair *out) {
  rb_status st = RB_OK;
  rb_volume v[2] = {{{{0}}, NULL, {0}, NULL}, {{{0}}, NULL, {0}, NULL}},
            l[2] = {{{{0}}, NULL, {0}, NULL}, {{{0}}, NULL, {0}, NULL}},
            there[2] = {{{{0}}, NULL, {0}, NULL}, {{{0}}, NULL, {0}, NULL}}; /* template and its labels, placed */
  memset(out, 0, sizeof *out);
  for (int i = 0; i < 2; i++) RB_TRY(read_files(r, i, &v[i], &l[i], out));
  RB_TRY(align(r, v, &out->to_template));
  if (r->placing == RB_IN_WORLD)
    RB_TRY(place_in_world(r, v, &l[0], &out->to_template, &there[0], &there[1], &out->in_world));
  const rb_volume *image[2] = {there[0].data ? &there[0] : &v[0], &v[1]},
                  *labels[2] = {there[1].data ? &there[1] : &l[0], &l[1]};
  RB_TRY(grid_of(r, image[0], &v[1], &out->grid));
  for (int i = 0; i < 2; i++) {
    RB_TRY(brought_to(image[i], r->how, out->grid, &out->image[i]));
    if (labels[i]->data) RB_TRY(brought_to(labels[i], RB_NEAREST, out->grid, &out->labels[i]));
  }
  RB_TRY(rb_volume_copy_geometry(&v[1], &out->like));
  for (int i = 0; i < 2 && r->keep; i++) {
    out->files[i] = v[i], out->maps[i] = l[i];
    memset(&v[i], 0, sizeof v[i]), memset(&l[i], 0, sizeof l[i]);
  }
done:
  for (int i = 0; i < 2; i++) rb_volume_free(&v[i]), rb_volume_free(&l[i]), rb_volume_free(&there[i]);
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
    RB_TRY(rb_pair_read(&(rb_pair_request){.images = {path, path}, .how = how, .grid = grid}, out));
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
  const rb_pair_request r = {.images = {paths[0], paths[1]},
                             .labels = {files[2] ? paths[2] : NULL, files[3] ? paths[3] : NULL},
                             .how = how,
                             .grid = grid};
  RB_TRY(rb_pair_read(&r, out));
done:
  rb_manifest_free(m);
  return st;
}
