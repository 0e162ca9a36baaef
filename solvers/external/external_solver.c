/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs of others as a solver of the contract. */
#include "datasets/displacement_file.h"
#include "datasets/temporary.h"
#include "datasets/volume.h"
#include "datasets/world.h"
#include "kernels/base/clock.h"
#include "solvers/common/by_displacement.h"
#include "solvers/common/displacement_quality.h"
#include "solvers/external/child.h"
#include "solvers/external/external.h"

#include <errno.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The images are the caller's, borrowed for the outputs; the folder is this solver's own and goes with it. */
typedef struct {
  rb_adapter *adapter;
  rb_grid grid;
  rb_subject subject, reference; /* template, reference; the caller's */
  const volatile int *interrupted;
  char folder[1024]; /* temporary; "": none yet */
  float *u;          /* [3][n] voxels, after a solve */
} state;

/* The version is asked of the program itself. Where it is not installed the text is empty and the failure is
 * forgotten. */
static void made_of(const rb_variant *v, char *out, size_t size) {
  char version[128] = "";
  rb_adapter *a = NULL;
  if (*((const rb_external_program *)v->ops)->adapter &&
      rb_external_adapter(v, &(rb_external_options){"", ""}, &a) == RB_OK)
    rb_adapter_version(a, version, sizeof version);
  rb_adapter_free(a);
  rb_clear();
  snprintf(out, size, "%s", version);
}
static void cite(const rb_variant *v, const void *o, char *out, size_t size) {
  rb_adapter *a;
  if (rb_external_adapter(v, o, &a) == RB_OK) snprintf(out, size, "%s", a->citation);
  rb_adapter_free(a);
  rb_clear();
}

#define AT(field) offsetof(rb_external_options, field)
static const rb_solver_option options[] = {
    {"adapter", RB_OPTION_TEXT, AT(adapter), .choices = " FILE", .unit = "",
     .help = "of the variant `adapter`: a YAML file, as those of solvers/external/adapters"},
    {"set", RB_OPTION_TEXT, AT(set), .choices = " 'NAME=VALUE ...'", .unit = "",
     .help = "parameters of the program; solvers/external/README.md lists them"},
    {NULL},
};
static void defaults(void *o) { *(rb_external_options *)o = (rb_external_options){"", ""}; }

/* The child's memory is its own: ITK holds some forty fields. Of our own: displacement and one image. Both estimates
 * count fields of float32. */
static rb_status predict(const rb_variant *v, const void *o, const rb_problem_shape *shape, size_t *backend,
                         size_t *host) {
  const size_t field = (size_t)rb_grid_points(shape->grid) * sizeof(float);
  (void)v, (void)o;
  *backend = 4 * field, *host = 50 * field; /* ours; the child's */
  return RB_OK;
}

/* Everything in the folder goes: images, the program's log, its field. */
static void destroy(void *p) {
  state *s = p;
  if (!s) return;
  if (s->folder[0]) rb_temporary_remove(s->folder);
  rb_adapter_free(s->adapter);
  free(s->u);
  free(s);
}

/* FOLDER/name; RB_EINVAL where that is too long. */
static rb_status place(const state *s, const char *name, char *path, size_t size) {
  return rb_path(path, size, "%s/%s", s->folder, name);
}

/* Voxels of 1 mm, to the left, posterior, superior along x, y, z: said, as programs take files that say nothing
 * differently. */
static rb_status write_image(const state *s, const char *name, const float *image) {
  static const rb_affine lps = {{{-1, 0, 0, 0}, {0, -1, 0, 0}, {0, 0, 1, 0}}, 1};
  rb_status st = RB_OK;
  const rb_volume here = {.grid = s->grid};
  rb_volume like = {0};
  char path[1200];
  RB_TRY(place(s, name, path, sizeof path));
  RB_TRY(rb_volume_with_affine(&here, &lps, &like));
  RB_TRY(rb_volume_write(path, &like, s->grid, image));
done:
  rb_volume_free(&like);
  return st;
}

/* Both images go to files of a temporary folder once; every solve starts the program anew on them. The program is
 * looked for first: what is not installed fails before any file is written. */
static rb_status create(const rb_variant *v, const void *o, const rb_problem *problem, const rb_team *team,
                        const volatile int *interrupted, void **out) {
  rb_status st = RB_OK;
  char version[128];
  (void)team;
  state *s = calloc(1, sizeof *s);
  RB_CHECK(s, RB_ENOMEM, "host memory");
  RB_TRY(rb_external_adapter(v, o, &s->adapter));
  RB_TRY(rb_adapter_version(s->adapter, version, sizeof version));
  s->interrupted = interrupted;
  s->grid = problem->shape.grid, s->subject = problem->templates[0], s->reference = *problem->reference;
  s->u = malloc(3 * (size_t)rb_grid_points(s->grid) * sizeof *s->u);
  RB_CHECK(s->u, RB_ENOMEM, "host memory: %zu bytes for a displacement",
           3 * (size_t)rb_grid_points(s->grid) * sizeof *s->u);
  RB_TRY(rb_temporary_make(s->folder, sizeof s->folder));
  RB_TRY(write_image(s, "template.nii.gz", s->subject.image));
  RB_TRY(write_image(s, "reference.nii.gz", s->reference.image));
  *out = s;
  s = NULL;
done:
  destroy(s);
  return st;
}

/* ---- solve ------------------------------------------------------------------------------------------------ */

/* What a program writes that gave up: zeros, or one shift. Each component by itself: a field with one shift in it is
 * constant, too. */
static int is_constant(const float *u, int64_t n) {
  for (int c = 0; c < 3; c++)
    for (int64_t i = 1; i < n; i++)
      if (u[c * n + i] != u[c * n]) return 0;
  return 1;
}

/* The program's own word counts for nothing: the template is warped by its displacement here. Both sums of squares
 * are over all voxels, what leaves the grid counting as 0. Why it ended no program tells: its iterations are used up,
 * unless the images differ more than before. A mismatch of 0 stands for
 * equal images, where there is nothing to divide by. */
static rb_status judge(state *s, rb_solution *out) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(s->grid);
  const float *m = s->subject.image, *f = s->reference.image;
  float *warped = malloc((size_t)n * sizeof *warped);
  RB_CHECK(warped, RB_ENOMEM, "host memory");
  RB_TRY(rb_displaced_image(s->grid, s->u, m, warped));
  const rb_mismatch is = rb_mismatch_of(n, m, warped, f);
  rb_solution_scalar(out, "mismatch", is.ratio, "1", "|M o s - F|^2 / |M - F|^2, by the displacement");
  rb_solution_scalar(out, "before", is.before / (double)n, "1", "mean squared difference before");
  rb_solution_scalar(out, "after", is.after / (double)n, "1", "the same after");
  out->end = is.ratio > 1 ? RB_END_DIVERGED : RB_END_ITERATIONS;
  out->as_asked = out->end == RB_END_ITERATIONS;
  if (is.ratio > 1) out->advice = "the program made the images differ more";
done:
  free(warped);
  return st;
}

/* An earlier field is removed first, so that only this run's can be read; a field that is missing or constant is a
 * failure whatever the exit code. The time is the whole child: its start, reading the images, writing the field. An
 * interruption is no failure: the displacement is then 0 everywhere, and that is what the outputs show. */
static rb_status solve(void *p, rb_solution *out) {
  rb_status st = RB_OK;
  state *s = p;
  char field[1200], *command = NULL;
  const double start = rb_now();
  RB_TRY(place(s, "field.nii.gz", field, sizeof field));
  RB_CHECK(unlink(field) == 0 || errno == ENOENT, RB_EIO, "cannot remove %s: %s", field, strerror(errno));
  RB_TRY(rb_adapter_command(s->adapter, "reference.nii.gz", "template.nii.gz", "field.nii.gz", omp_get_max_threads(),
                            &command));
  char *const arguments[] = {"sh", "-c", command, NULL};
  const rb_child how = {s->folder, 1, s->adapter->name, s->adapter->seconds, s->interrupted};
  st = rb_child_run(&how, arguments);
  out->seconds = rb_now() - start;
  if (st == RB_EINTERRUPTED) { /* a program keeps no iterate: nothing has moved */
    rb_clear();
    memset(s->u, 0, 3 * (size_t)rb_grid_points(s->grid) * sizeof *s->u);
    out->end = RB_END_INTERRUPTED;
    free(command);
    return RB_OK;
  }
  RB_TRY(st);
  RB_CHECK(access(field, R_OK) == 0, RB_EINVALID, "%s wrote no displacement (field.nii.gz), by which it is judged",
           s->adapter->name);
  RB_TRY(rb_displacement_read_as(field, s->adapter->convention, s->grid, s->u));
  RB_CHECK(!is_constant(s->u, rb_grid_points(s->grid)), RB_EINVALID,
           "%s wrote one and the same displacement everywhere: it registered nothing", s->adapter->name);
  RB_TRY(judge(s, out));
done:
  free(command);
  return st;
}

/* ---- outputs ---------------------------------------------------------------------------------------------- */

/* All outputs are made here, on the CPU, from the displacement alone, in voxels. */
static rb_status warped(void *p, int t, void *out) {
  state *s = p;
  (void)t;
  return rb_displaced_image(s->grid, s->u, s->subject.image, out);
}
static rb_status displacement(void *p, int t, void *out) {
  state *s = p;
  (void)t;
  memcpy(out, s->u, 3 * (size_t)rb_grid_points(s->grid) * sizeof *s->u);
  return RB_OK;
}
static rb_status determinant(void *p, int t, void *out) {
  state *s = p;
  (void)t;
  return rb_displacement_determinant(s->grid, s->u, out);
}
static rb_status labels(void *p, int t, void *out) {
  state *s = p;
  (void)t;
  rb_displaced_labels(s->grid, s->u, s->subject.labels, out);
  return RB_OK;
}
/* A program of others shows no iterations. */
static const rb_history_column history[] = {{NULL, NULL}};
static const rb_output outputs[] = {
    {"warped", RB_OUTPUT_SCALAR, "the template at x + displacement(x)", warped, NULL, 0},
    {"displacement", RB_OUTPUT_VECTOR,
     "as ITK takes it: mm to the left, posterior, superior; the template is read at x + u(x)", displacement, NULL, 0},
    {"jacobian", RB_OUTPUT_DETERMINANT, "determinant of I + du/dx, u the displacement", determinant, NULL, 0},
    {"labels", RB_OUTPUT_LABELS, "the template's labels, each voxel's the nearest", labels, NULL, 0},
    {NULL, RB_OUTPUT_SCALAR, NULL, NULL, NULL, 0},
};

/* Where the program is missing, create says which package to
 * install. */
const rb_solver rb_solver_external = {
    .family = &rb_external_family,
    .preferred = "plastimatch-log-demons",
    .otherwise = "plastimatch-log-demons",
    .takes = RB_TAKES_IMAGES,
    .about = "A program of others, run over NIfTI files and judged by the displacement that it writes alone.",
    .citation = "",
    .cite = cite,
    .made_of = made_of,
    .options = options,
    .options_size = sizeof(rb_external_options),
    .defaults = defaults,
    .history = history,
    .outputs = outputs,
    .predict = predict,
    .create = create,
    .solve = solve,
    .destroy = destroy,
};
