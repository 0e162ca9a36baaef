/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/cli/register_world.h"

#include "datasets/world.h"
#include "experiments/runner/inputs/label_table.h"
#include "experiments/runner/inputs/world_field.h"
#include "experiments/runner/machine/environment.h"
#include "solvers/common/by_displacement.h"
#include "solvers/common/displacement_quality.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char *name, *what;
} outputs[] = {
    {"warped", "the template at x + displacement(x), at the reference's own resolution, interpolated once"},
    {"displacement", "as ITK takes it: mm to the left, posterior, superior; the template is read at x + u(x)"},
    {"inverse_displacement", "likewise from the template's voxels to the reference; its residual is in metrics.json"},
    {"jacobian", "determinant of I + du/dx, u the displacement, on its grid (central differences)"},
    {"labels", "the template's labels at the reference's resolution: the label with most of the linear weights"},
};
enum { OUTPUTS = sizeof outputs / sizeof *outputs };

int rb_register_world_has(const rb_register_request *r, const char *name) {
  for (int k = 0; k < OUTPUTS && rb_register_is_pair(r); k++)
    if (strcmp(outputs[k].name, name) == 0) return 1;
  return 0;
}
void rb_register_world_print_help(void) {
  for (int k = 0; k < OUTPUTS; k++)
    printf("  %-28s %s\n", strcat(strcpy((char[48]){0}, outputs[k].name), ".nii.gz"), outputs[k].what);
}
int rb_register_wanted(const rb_register_request *r, const char *name) {
  const size_t length = strlen(name);
  for (const char *at = r->outputs; at && *at; at += strcspn(at, ","), at += *at == ',')
    if (strcspn(at, ",") == length && strncmp(at, name, length) == 0) return 1;
  return !r->outputs;
}

/* ---- the map ---------------------------------------------------------------------------------------------- */

/* The reference's world to the template's: the displacement on the registration's lattice, then the alignment. */
typedef struct {
  rb_world_field field;
  rb_affine after, before; /* to the template's world, and back */
  rb_volume image, labels; /* the template's files where the alignment has put them; the voxels are the pair's */
  double left;             /* greatest residual of an inverse that was asked for, voxels */
  int64_t lost;            /* inverses that were not found */
} map_of_pair;

static void forward(const void *context, const double p[3], double q[3]) {
  const map_of_pair *m = context;
  double moved[3];
  rb_world_move(1, &m->field, p, moved);
  rb_affine_point(&m->after, moved, q);
}
/* Many threads: what is left is the worst of all; few come with a worse one. */
static void backward(const void *context, const double p[3], double q[3]) {
  map_of_pair *m = (map_of_pair *)(uintptr_t)context;
  double there[3];
  rb_affine_point(&m->before, p, there);
  const double left = rb_world_find(1, &m->field, there, q);
  if (left > 1e-3) {
#pragma omp atomic
    m->lost++;
  }
  double worst;
#pragma omp atomic read
  worst = m->left;
  if (!(left > worst)) return;
#pragma omp critical(register_world_left)
  if (left > m->left) {
#pragma omp atomic write
    m->left = left;
  }
}

/* The geometry that a file of the template has for the map: its own behind the alignment, or, where images are
 * registered as they lie in memory, the reference's field of view. */
static rb_status placed(const rb_register_inputs *in, const map_of_pair *m, const rb_volume *file, rb_volume *out) {
  rb_affine a;
  if (!file->data) return RB_OK;
  const rb_affine own = rb_volume_affine(file, file->grid);
  a = in->pair.in_world ? rb_affine_product(&m->before, &own)
                        : rb_volume_affine(&in->pair.files[RB_REFERENCE], file->grid);
  return rb_volume_with_affine(file, &a, out);
}

static rb_status map_create(const rb_register_request *r, const rb_register_inputs *in, void *state, map_of_pair *m) {
  rb_status st = RB_OK;
  const rb_grid g = in->problem.shape.grid;
  const size_t bytes = 3 * (size_t)rb_grid_points(g) * sizeof(float);
  *m = (map_of_pair){.field = {.lattice = {.grid = g}, .to_world = rb_volume_affine(in->like, g)}};
  m->after = in->pair.in_world ? in->pair.to_template : rb_affine_identity();
  RB_CHECK(rb_affine_inverse(&m->after, &m->before) && rb_affine_inverse(&m->field.to_world, &m->field.to_voxels),
           RB_EFORMAT, "an affine has no inverse");
  m->field.u = malloc(bytes);
  RB_CHECK(m->field.u, RB_ENOMEM, "host memory: %zu bytes for the displacement", bytes);
  RB_TRY(rb_solver_output(r->solver, "displacement")->get(state, 0, m->field.u));
  RB_TRY(placed(in, m, &in->pair.files[RB_TEMPLATE], &m->image));
  RB_TRY(placed(in, m, &in->pair.maps[RB_TEMPLATE], &m->labels));
done:
  return st;
}
static void map_free(map_of_pair *m) {
  free(m->field.u);
  m->image.data = m->labels.data = NULL; /* the pair's */
  rb_volume_free(&m->image), rb_volume_free(&m->labels);
}

/* ---- files ------------------------------------------------------------------------------------------------ */

static rb_status carried(const map_of_pair *m, int fields, const rb_volume *file, const rb_volume *like, rb_carry how,
                         float **out) {
  rb_status st = RB_OK;
  rb_carried report;
  const size_t bytes = (size_t)rb_grid_points(like->grid) * sizeof **out;
  *out = malloc(bytes);
  RB_CHECK(*out, RB_ENOMEM, "host memory: %zu bytes for results", bytes);
  RB_TRY(rb_carry_image(fields, &m->field, 0, file, like, how, *out, &report));
done:
  return st;
}

/* The mismatch by the written map over the reference's voxels, the template 0 outside of its file, whatever is
 * written; the warped image where it is wanted. */
static rb_status compare_images(const rb_register_request *r, const rb_register_inputs *in, const map_of_pair *m,
                                json_t *metrics) {
  rb_status st = RB_OK;
  const rb_volume *like = &in->pair.files[RB_REFERENCE];
  const float least = in->pair.least[RB_TEMPLATE];
  float *now = NULL, *was = NULL;
  char path[4096];
  RB_TRY(carried(m, 1, &m->image, like, RB_CARRY_LINEAR, &now));
  RB_TRY(carried(m, 0, &m->image, like, RB_CARRY_LINEAR, &was));
  const rb_mismatch is = rb_mismatch_of(rb_grid_points(like->grid), was, now, like->data);
  json_object_set_new(metrics, "by_displacement",
                      json_pack("{s:o,s:s}", "mismatch", rb_json_number(is.ratio), "of",
                                "|M o s - F|^2 / |M - F|^2 at the reference's resolution, by the written map"));
  if (!rb_register_wanted(r, "warped")) goto done;
  for (int64_t i = 0; i < rb_grid_points(like->grid) && least < 0; i++) now[i] += least;
  RB_TRY(rb_register_path(r, path, sizeof path, "warped.nii.gz"));
  RB_TRY(rb_volume_write(path, like, like->grid, now));
done:
  free(now), free(was);
  return st;
}

/* The written displacement holds the alignment, which changes volumes as well. */
static rb_status write_determinant(const rb_register_request *r, const rb_register_inputs *in, const map_of_pair *m,
                                   rb_quality *q) {
  rb_status st = RB_OK;
  const rb_grid g = in->problem.shape.grid;
  const double by = rb_affine_determinant(&m->after);
  float *det = malloc((size_t)rb_grid_points(g) * sizeof *det);
  char path[4096];
  RB_CHECK(det, RB_ENOMEM, "host memory: %zu bytes for results", (size_t)rb_grid_points(g) * sizeof *det);
  RB_TRY(rb_displacement_determinant(g, m->field.u, det));
  for (int64_t i = 0; i < rb_grid_points(g) && by != 1; i++) det[i] *= (float)by;
  rb_quality_determinant(q, "jacobian", 0, g, det);
  RB_TRY(rb_register_path(r, path, sizeof path, "jacobian.nii.gz"));
  RB_TRY(rb_volume_write(path, in->like, g, det));
done:
  free(det);
  return st;
}

/* FSL counts from the corner of a field's own lattice, which must then be the reference's. */
static rb_status write_displacement(const rb_register_request *r, const rb_register_inputs *in,
                                    const map_of_pair *m) {
  rb_status st = RB_OK;
  const rb_pair *pair = &in->pair;
  const rb_volume *like = &pair->files[RB_REFERENCE];
  const rb_grid g = r->convention == RB_FIELD_FSL ? like->grid : in->problem.shape.grid;
  char path[4096];
  RB_TRY(rb_register_path(r, path, sizeof path, "displacement.nii.gz"));
  RB_TRY(rb_displacement_write_map(path, like, g, r->convention,
                                   pair->in_world ? &pair->files[RB_TEMPLATE] : &m->image, forward, m));
done:
  return st;
}

/* On the template's field of view, with voxels about as large as the registration's. */
static rb_grid grid_of_inverse(const rb_register_request *r, const rb_register_inputs *in) {
  const rb_volume *like = &in->pair.files[RB_REFERENCE], *file = &in->pair.files[RB_TEMPLATE];
  const rb_grid g = in->problem.shape.grid;
  rb_grid out = file->grid;
  double finer = 1; /* the reference's voxels to the registration's */
  for (int k = 0; k < 3; k++) finer *= (double)like->grid.n[k] / (double)g.n[k];
  if (r->convention == RB_FIELD_FSL || fabs(finer - 1) < 1e-9) return out;
  const double voxel = cbrt(like->spacing[0] * like->spacing[1] * like->spacing[2] * finer);
  for (int k = 0; k < 3; k++)
    out.n[k] = (int64_t)fmin(fmax(4, rint((double)file->grid.n[k] * file->spacing[k] / voxel)), 4096);
  return out;
}
static rb_status write_inverse(const rb_register_request *r, const rb_register_inputs *in, map_of_pair *m,
                               json_t *metrics) {
  rb_status st = RB_OK;
  const rb_volume *like = in->pair.in_world ? &in->pair.files[RB_TEMPLATE] : &m->image;
  const rb_grid g = grid_of_inverse(r, in);
  char path[4096];
  RB_TRY(rb_register_path(r, path, sizeof path, "inverse_displacement.nii.gz"));
  RB_TRY(rb_displacement_write_map(path, like, g, r->convention, &in->pair.files[RB_REFERENCE], backward, m));
  json_object_set_new(metrics, "inverse_displacement",
                      json_pack("{s:o,s:I,s:o,s:s}", "residual", rb_json_number(m->left), "voxels_without_inverse",
                                (json_int_t)m->lost, "percent_without_inverse",
                                rb_json_number(100 * (double)m->lost / (double)rb_grid_points(g)), "unit",
                                "residual in voxels of the displacement; an inverse is found by 1e-3"));
done:
  return st;
}

/* ---- labels and points ------------------------------------------------------------------------------------ */

static json_t *row_of(const rb_register_inputs *in, int l, const rb_label_table *before,
                      const rb_label_table *after) {
  const rb_label_row *b = &before->row[l], *a = &after->row[l];
  json_t *row = json_pack("{s:i,s:o,s:o,s:o,s:o,s:o,s:o}", "label", l, "dice_before", rb_json_number(b->dice), "dice",
                          rb_json_number(a->dice), "hd95_before", rb_json_number(b->border.hd95), "hd95",
                          rb_json_number(a->border.hd95), "mean_surface_distance_before",
                          rb_json_number(b->border.mean), "mean_surface_distance", rb_json_number(a->border.mean));
  if (in->label_name[l]) json_object_set_new(row, "name", json_string(in->label_name[l]));
  return row;
}
static json_t *means_of(const rb_label_table *t) {
  return json_pack("{s:o,s:o,s:o,s:o,s:i}", "dice_mean", rb_json_number(t->overlap.mean), "dice_union",
                   rb_json_number(t->overlap.all), "hd95_mean", rb_json_number(t->hd95), "mean_surface_distance_mean",
                   rb_json_number(t->mean_distance), "labels", t->overlap.count);
}

static rb_status write_labels(const rb_register_request *r, const rb_register_inputs *in, const map_of_pair *m,
                              json_t *metrics) {
  rb_status st = RB_OK;
  const rb_volume *like = &in->pair.files[RB_REFERENCE], *theirs = &in->pair.maps[RB_REFERENCE];
  float *now = NULL, *was = NULL;
  rb_label_table before, after;
  char path[4096];
  RB_TRY(carried(m, 1, &m->labels, like, RB_CARRY_LABELS, &now));
  RB_TRY(rb_register_path(r, path, sizeof path, "labels.nii.gz"));
  RB_TRY(rb_volume_write_labels(path, like, like->grid, now));
  if (!theirs->data) goto done; /* an atlas's labels, carried to a subject */
  RB_TRY(carried(m, 0, &m->labels, like, RB_CARRY_LABELS, &was));
  RB_TRY(rb_label_table_of(like->grid, like->spacing, was, theirs->data, &before));
  RB_TRY(rb_label_table_of(like->grid, like->spacing, now, theirs->data, &after));
  json_t *table = json_array();
  for (int l = 1; l < RB_LABELS; l++)
    if (!isnan(after.row[l].dice)) json_array_append_new(table, row_of(in, l, &before, &after));
  json_object_set_new(metrics, "label_table",
                      json_pack("{s:s,s:o,s:o,s:o}", "of",
                                "labels.nii.gz against the reference's, at its resolution; distances in mm", "before",
                                means_of(&before), "after", means_of(&after), "rows", table));
done:
  free(now), free(was);
  return st;
}

/* A point of the reference is carried to the template, as the image is: no inverse is needed. */
static void measure_points(const rb_register_inputs *in, const map_of_pair *m, json_t *metrics) {
  int64_t outside = 0;
  const rb_points *from = &in->marks[RB_REFERENCE], *to = &in->marks[RB_TEMPLATE];
  const int64_t n = from->n;
  double sum[2] = {0, 0}, square[2] = {0, 0}, most[2] = {0, 0};
  for (int64_t i = 0; i < n; i++) {
    const double p[3] = {from->x[i], from->x[n + i], from->x[2 * n + i]};
    double q[3], x[3], squared[2] = {0, 0};
    int within = 1;
    rb_affine_point(&m->field.to_voxels, p, x);
    for (int a = 0; a < 3; a++) within &= x[a] >= -0.5 && x[a] <= (double)in->pair.grid.n[2 - a] - 0.5;
    outside += !within;
    forward(m, p, q);
    for (int a = 0; a < 3; a++)
      squared[0] += pow(p[a] - to->x[a * n + i], 2), squared[1] += pow(q[a] - to->x[a * n + i], 2);
    for (int k = 0; k < 2; k++)
      sum[k] += sqrt(squared[k]), square[k] += squared[k], most[k] = fmax(most[k], sqrt(squared[k]));
  }
  json_t *j = json_pack("{s:I,s:s}", "count", (json_int_t)n, "of",
                        "distance in mm of the reference's point, carried to the template, to the template's point");
  for (int k = 0; k < 2; k++) {
    const double mean = sum[k] / (double)n;
    json_object_set_new(j, k ? "after" : "before",
                        json_pack("{s:f,s:f,s:f}", "mean", mean, "sd",
                                  sqrt(fmax(0, square[k] / (double)n - mean * mean)), "greatest", most[k]));
  }
  json_object_set_new(j, "outside_of_reference", json_integer((json_int_t)outside));
  json_object_set_new(metrics, "points", j);
  if (outside)
    fprintf(stderr, "regbench register: %lld of %lld points of the reference lie outside of its image: these stay\n",
            (long long)outside, (long long)n);
}

rb_status rb_register_world_write(const rb_register_request *r, const rb_register_inputs *in, void *state,
                                  rb_quality *q, json_t *metrics) {
  rb_status st = RB_OK;
  map_of_pair m = {0};
  RB_TRY(map_create(r, in, state, &m));
  RB_TRY(compare_images(r, in, &m, metrics));
  if (rb_register_wanted(r, "jacobian")) RB_TRY(write_determinant(r, in, &m, q));
  if (rb_register_wanted(r, "displacement")) RB_TRY(write_displacement(r, in, &m));
  if (rb_register_wanted(r, "inverse_displacement")) RB_TRY(write_inverse(r, in, &m, metrics));
  if (m.labels.data && rb_register_wanted(r, "labels")) RB_TRY(write_labels(r, in, &m, metrics));
  if (in->marks[0].n) measure_points(in, &m, metrics);
done:
  map_free(&m);
  return st;
}

rb_status rb_register_world_carried(const rb_register_request *r, const rb_register_inputs *in, void *state, int t,
                                    const char *file, rb_carry how, float **out) {
  rb_status st = RB_OK;
  const rb_grid g = in->problem.shape.grid;
  const size_t bytes = 3 * (size_t)rb_grid_points(g) * sizeof(float);
  map_of_pair m = {.field = {.lattice = {.grid = g}, .to_world = rb_volume_affine(in->like, g)}};
  rb_volume v = {0};
  *out = NULL;
  RB_CHECK(rb_affine_inverse(&m.field.to_world, &m.field.to_voxels), RB_EFORMAT, "an affine has no inverse");
  m.field.u = malloc(bytes);
  RB_CHECK(m.field.u, RB_ENOMEM, "host memory: %zu bytes for the displacement", bytes);
  RB_TRY(rb_solver_output(r->solver, "displacement")->get(state, t, m.field.u));
  RB_TRY(rb_volume_read(file, &v));
  const rb_affine own = rb_volume_affine(&v, v.grid), theirs = rb_volume_affine(in->like, v.grid);
  RB_TRY(rb_volume_with_affine(&v, !r->ignore_geometry && own.known && theirs.known ? &own : &theirs, &m.image));
  RB_TRY(carried(&m, 1, &m.image, in->like, how, out));
done:
  map_free(&m);
  rb_volume_free(&v);
  return st;
}
rb_status rb_register_world_carry(const rb_register_request *r, const rb_register_inputs *in, void *state, int t,
                                  const char *file, const char *path) {
  rb_status st = RB_OK;
  float *now = NULL;
  RB_TRY(rb_register_world_carried(r, in, state, t, file, RB_CARRY_LINEAR, &now));
  RB_TRY(rb_volume_write(path, in->like, in->like->grid, now));
done:
  free(now);
  return st;
}
