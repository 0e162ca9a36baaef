/* SPDX-License-Identifier: BSD-3-Clause */
/* What a registration leaves: a file an output, and a line on stdout. */
#include "datasets/displacement_file.h"
#include "datasets/mesh_file.h"
#include "experiments/runner/base/files.h"
#include "experiments/runner/cli/register.h"
#include "experiments/runner/cli/register_grid.h"
#include "experiments/runner/cli/register_plot.h"
#include "experiments/runner/cli/register_probability.h"
#include "experiments/runner/cli/register_quality.h"
#include "experiments/runner/cli/register_world.h"
#include "kernels/base/clock.h"
#include "kernels/registry/registry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- files ------------------------------------------------------------------------------------------------ */

static int is_csv(const char *file) {
  const size_t length = strlen(file);
  return length > 4 && strcmp(file + length - 4, ".csv") == 0;
}

/* In the form of the file that the points stem from; NULL: numbers that are no positions, as CSV. */
static rb_status write_points(const rb_register_request *r, const char *name, const char *from, const rb_points *like,
                              const double *x) {
  rb_status st = RB_OK;
  char path[4096];
  RB_TRY(rb_register_path(r, path, sizeof path, "%s%s", name, !from || is_csv(from) ? ".csv" : ".vtk"));
  RB_TRY(rb_points_write(path, like->n, like->dim, x, from ? like : NULL));
done:
  return st;
}

/* x [time points][dim][n] */
static rb_status write_paths(const rb_register_request *r, const char *name, int steps, const rb_points *like,
                             const double *x) {
  rb_status st = RB_OK;
  char path[4096], *text = NULL;
  size_t length = 0;
  const int64_t n = like->n;
  FILE *f = open_memstream(&text, &length);
  RB_CHECK(f, RB_ENOMEM, "host memory");
  fprintf(f, "time,point,x,y%s\n", like->dim > 2 ? ",z" : "");
  for (int t = 0; t < steps; t++, x += like->dim * n)
    for (int64_t i = 0; i < n; i++) {
      fprintf(f, "%.6g,%lld,%.9g,%.9g", steps > 1 ? (double)t / (steps - 1) : 0, (long long)i + 1, x[i], x[n + i]);
      if (like->dim > 2) fprintf(f, ",%.9g", x[2 * n + i]);
      fputc('\n', f);
    }
  const int whole = !ferror(f) & (fclose(f) == 0);
  f = NULL;
  RB_CHECK(whole && text, RB_ENOMEM, "host memory for %s", name);
  RB_TRY(rb_register_path(r, path, sizeof path, "%s.csv", name));
  RB_TRY(rb_write_atomically(path, text, length));
done:
  if (f) fclose(f);
  free(text);
  return st;
}

/* Of template `t` of a cohort: name_001_file.nii.gz. A warped image is made of its file, as it is. */
static rb_status write_field(const rb_register_request *r, const rb_register_inputs *in, const rb_output *o,
                             void *state, int t, const float *f) {
  rb_status st = RB_OK;
  const rb_grid grid = in->problem.shape.grid;
  char path[4096], of_template[160] = "";
  if (r->solver->cohort && !o->common)
    snprintf(of_template, sizeof of_template, "_%03d_%s", t + 1, in->cohort.name[t]);
  RB_TRY(rb_register_path(r, path, sizeof path, "%s%s.nii.gz", o->name, of_template));
  if (o->kind == RB_OUTPUT_VECTOR || o->kind == RB_OUTPUT_INVERSE)
    RB_TRY(rb_displacement_write(path, in->like, grid, f));
  else if (r->solver->cohort && strcmp(o->name, "warped") == 0)
    RB_TRY(rb_register_world_carry(r, in, state, t, in->kept[t], path));
  else
    RB_TRY(rb_volume_write(path, in->like, grid, f));
done:
  return st;
}

/* The template's posteriors, of their files: name_1.nii.gz and so on. */
static rb_status write_channels(const rb_register_request *r, const rb_register_inputs *in, const rb_output *o,
                                void *state) {
  rb_status st = RB_OK;
  char path[4096];
  for (int k = 0; k < in->problem.shape.channels; k++) {
    RB_TRY(rb_register_path(r, path, sizeof path, "%s_%d.nii.gz", o->name, k + 1));
    RB_TRY(rb_register_world_carry(r, in, state, 0, r->posteriors[RB_TEMPLATE].files[k], path));
  }
done:
  return st;
}
/* name_1.gii and so on, in mm of the reference's world. x [3][all vertices] in voxels is overwritten. */
static rb_status write_surfaces(const rb_register_request *r, const rb_register_inputs *in, const rb_output *o,
                                double *x) {
  rb_status st = RB_OK;
  const int64_t all = in->problem.shape.vertices;
  const rb_anatomy *moving = &in->anatomy[RB_TEMPLATE];
  int64_t at = 0;
  char path[4096];
  rb_mesh m = {0};
  rb_anatomy_to_world(&in->anatomy[RB_REFERENCE], all, x);
  for (int k = 0; k < moving->surfaces; k++) {
    rb_mesh_free(&m);
    RB_TRY(rb_mesh_reserve(moving->mesh[k].vertices, moving->mesh[k].faces, &m));
    memcpy(m.face, moving->mesh[k].face, 3 * (size_t)m.faces * sizeof *m.face);
    for (int a = 0; a < 3; a++) memcpy(m.x + a * m.vertices, x + a * all + at, (size_t)m.vertices * sizeof *x);
    at += m.vertices;
    RB_TRY(rb_register_path(r, path, sizeof path, "%s_%d.gii", o->name, k + 1));
    RB_TRY(rb_mesh_write(path, &m));
  }
done:
  rb_mesh_free(&m);
  return st;
}

/* ---- outputs ---------------------------------------------------------------------------------------------- */

static size_t output_bytes(const rb_output *o, const rb_problem_shape *shape, void *state) {
  const size_t n = (size_t)rb_grid_points(shape->grid), x = (size_t)shape->points * (size_t)shape->dim;
  switch (o->kind) {
    case RB_OUTPUT_SCALAR:
    case RB_OUTPUT_DETERMINANT:
    case RB_OUTPUT_LABELS:
      return n * sizeof(float);
    case RB_OUTPUT_VECTOR:
    case RB_OUTPUT_INVERSE:
      return 3 * n * sizeof(float);
    case RB_OUTPUT_CHANNELS:
      return (size_t)shape->channels * n * sizeof(float);
    case RB_OUTPUT_SURFACES:
      return 3 * (size_t)shape->vertices * sizeof(double);
    case RB_OUTPUT_PATHS:
      return (size_t)o->length(state) * x * sizeof(double);
    case RB_OUTPUT_POINTS:
    case RB_OUTPUT_POINT_VECTORS:
      break;
  }
  return x * sizeof(double);
}

/* By the displacement of the same template. */
static rb_status measure_inverse(const rb_register_request *r, const rb_problem_shape *shape, void *state, int t,
                                 const float *inverse, rb_quality *q) {
  rb_status st = RB_OK;
  const size_t bytes = 3 * (size_t)rb_grid_points(shape->grid) * sizeof(float);
  float *u = malloc(bytes);
  RB_CHECK(u, RB_ENOMEM, "host memory: %zu bytes for results", bytes);
  RB_TRY(rb_solver_output(r->solver, "displacement")->get(state, t, u));
  rb_quality_inverse(q, t, shape->grid, u, inverse);
done:
  free(u);
  return st;
}

static rb_status write_output(const rb_register_request *r, const rb_register_inputs *in, const rb_output *o,
                              void *state, int t, rb_quality *q) {
  rb_status st = RB_OK;
  const size_t bytes = output_bytes(o, &in->problem.shape, state);
  void *room = malloc(bytes);
  RB_CHECK(room, RB_ENOMEM, "host memory: %zu bytes for results", bytes);
  RB_TRY(o->get(state, t, room));
  switch (o->kind) {
    case RB_OUTPUT_POINTS:
      RB_TRY(write_points(r, o->name, r->files[RB_TEMPLATE], &in->points[0], room));
      break;
    case RB_OUTPUT_POINT_VECTORS:
      RB_TRY(write_points(r, o->name, NULL, &in->points[0], room));
      break;
    case RB_OUTPUT_PATHS:
      RB_TRY(write_paths(r, o->name, o->length(state), &in->points[0], room));
      break;
    case RB_OUTPUT_CHANNELS:
      RB_TRY(write_channels(r, in, o, state));
      rb_quality_classes(q, in->problem.shape.grid, in->problem.shape.channels, in->subject[RB_TEMPLATE].image, room,
                         in->subject[RB_REFERENCE].image);
      break;
    case RB_OUTPUT_SURFACES:
      RB_TRY(write_surfaces(r, in, o, room));
      break;
    default:
      if (o->kind == RB_OUTPUT_DETERMINANT) rb_quality_determinant(q, o->name, t, in->problem.shape.grid, room);
      if (o->kind == RB_OUTPUT_INVERSE) RB_TRY(measure_inverse(r, &in->problem.shape, state, t, room, q));
      if (o->kind == RB_OUTPUT_LABELS) rb_quality_labels(q, o->name, &in->pair, room);
      if (*o->name != '.' && !rb_register_world_has(r, o->name)) RB_TRY(write_field(r, in, o, state, t, room));
  }
done:
  free(room);
  return st;
}

/* Points that go along: the user's own, and a grid around both sets. */
static rb_status write_carried(const rb_register_request *r, const rb_register_inputs *in, void *state) {
  rb_status st = RB_OK;
  const rb_points *p = &in->applied;
  const size_t bytes = (size_t)p->n * (size_t)p->dim * sizeof(double);
  double *x = NULL;
  if (p->n) {
    x = malloc(bytes);
    RB_CHECK(x, RB_ENOMEM, "host memory: %zu bytes for points", bytes);
    memcpy(x, p->x, bytes);
    RB_TRY(r->solver->carry(state, p->n, x));
    RB_TRY(write_points(r, "applied", r->apply, p, x));
  }
  if (r->spacing > 0) {
    static const char *const names[] = {"velocity", "displacement", "inverse_displacement"};
    char path[4096];
    for (int k = 0; k < 3; k++) RB_TRY(rb_register_path(r, path, sizeof path, "%s.nii.gz", names[k]));
    RB_TRY(rb_register_grid_write(r->out, r->solver, state, in->points,
                                  rb_register_grid_margin(r->solver, r->options), r->spacing));
  }
done:
  free(x);
  return st;
}

/* Of this member's templates; what is common to all, by rank 0. */
static rb_status write_outputs(const rb_register_request *r, const rb_register_inputs *in, void *state,
                               rb_quality *q) {
  rb_status st = RB_OK;
  int64_t first, end;
  rb_team_share(r->team, in->problem.shape.templates, &first, &end);
  for (const rb_output *o = r->solver->outputs; o->name; o++) {
    if (!rb_register_wanted(r, o->name)) continue;
    if (rb_register_world_has(r, o->name) && o->kind != RB_OUTPUT_LABELS) continue; /* made for all methods alike */
    if (o->kind == RB_OUTPUT_LABELS && !in->problem.shape.labels) continue;
    if (o->kind == RB_OUTPUT_SURFACES && !in->problem.shape.surfaces) continue;
    if (o->common) {
      if (r->team->rank == 0) RB_TRY(write_output(r, in, o, state, 0, q));
      continue;
    }
    for (int64_t t = first; t < end; t++) RB_TRY(write_output(r, in, o, state, (int)t, q));
  }
  RB_TRY(write_carried(r, in, state));
done:
  return st;
}

/* ---- all of it -------------------------------------------------------------------------------------------- */

static void print_summary(const rb_register_request *r, const rb_variant *v, const rb_solution *s,
                          const rb_quality *q, double total) {
  printf("%s: %s", v->name, rb_solver_end_name(s->end));
  for (int k = 0; k < s->scalar_count; k++) printf(", %s %.4g", s->scalars[k].name, s->scalars[k].value);
  rb_quality_print(q);
  printf(", %.3g s (%.3g s with files): %s\n", s->seconds, total, r->out);
}

rb_status rb_register_write(const rb_register_request *r, const rb_register_inputs *in, const rb_variant *v,
                            void *state, const rb_solution *s, rb_register_costs *costs, double started) {
  rb_status st = RB_OK;
  const rb_backend *b;
  char metrics[4096];
  rb_quality q;
  json_t *world = json_object();
  RB_TRY(rb_quality_create(in->problem.shape.templates, &q));
  RB_TRY(rb_backend_get(v->backend, &b));
  RB_TRY(rb_path(metrics, sizeof metrics, "%s/metrics.json", r->out));
  if (r->team->rank == 0) {
    unlink(metrics); /* of a registration before: it would vouch for what may stay half-written */
    rb_register_folder_clear(r);
  }
  RB_TRY(rb_team_agree(r->team, RB_OK)); /* the folder is empty of results before anybody writes */
  if (rb_register_is_pair(r)) RB_TRY(rb_register_world_write(r, in, state, &q, world));
  RB_TRY(rb_team_agree(r->team, write_outputs(r, in, state, &q)));
  RB_TRY(rb_register_probabilities(r, in, state, world));
  RB_TRY(rb_quality_reduce(r->team, &q));
  costs->peak_with_results = rb_memory_peak(b->kind);
  costs->total = rb_now() - started;
  if (r->team->rank > 0) goto done; /* one writer */
  RB_TRY(rb_register_write_metrics(r, in, v, s, costs, &q, world));
  if (!r->outputs && rb_register_plot(r, s) != RB_OK) rb_clear(); /* a picture of what metrics.json holds */
  print_summary(r, v, s, &q, costs->total);
done:
  json_decref(world);
  rb_quality_free(&q);
  return st;
}
