/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/workloads/register_child.h"

#include "datasets/displacement_file.h"
#include "datasets/manifest.h"
#include "datasets/temporary.h"
#include "experiments/runner/base/interrupt.h"
#include "solvers/external/child.h"
#include "solvers/solver.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- the files -------------------------------------------------------------------------------------------- */

static const rb_volume *like_of(const rb_register_child *c) { return c->pair.like.header ? &c->pair.like : NULL; }

static rb_status own_files(rb_register_child *c, const rb_manifest *m, const rb_manifest_pair *pair) {
  rb_status st = RB_OK;
  const char *images[2] = {pair->template_image, pair->reference},
             *labels[2] = {pair->template_labels, pair->reference_labels};
  for (int i = 0; i < 2; i++) {
    RB_TRY(rb_manifest_path(m, images[i], c->images[i], PATH_MAX));
    if (labels[i]) RB_TRY(rb_manifest_path(m, labels[i], c->labels[i], PATH_MAX));
  }
done:
  return st;
}

static rb_status made_files(rb_register_child *c) {
  static const char *const names[2] = {"template.nii.gz", "reference.nii.gz"}, *const labels[2] = {
                                                                                   "template-labels.nii.gz",
                                                                                   "reference-labels.nii.gz"};
  rb_status st = RB_OK;
  for (int i = 0; i < 2; i++) {
    snprintf(c->images[i], PATH_MAX, "%s/%s", c->folder, names[i]);
    RB_TRY(rb_volume_write(c->images[i], like_of(c), c->pair.grid, c->pair.image[i]));
    if (!c->pair.labels[0] || !c->pair.labels[1]) continue;
    snprintf(c->labels[i], PATH_MAX, "%s/%s", c->folder, labels[i]);
    RB_TRY(rb_volume_write(c->labels[i], like_of(c), c->pair.grid, c->pair.labels[i]));
  }
done:
  return st;
}

rb_status rb_register_child_create(const char *data, rb_grid grid, rb_register_child *out) {
  rb_status st = RB_OK;
  rb_manifest *set = NULL;
  const rb_manifest_pair *pair;
  *out = (rb_register_child){.grid = grid};
  const ssize_t length = readlink("/proc/self/exe", out->program, sizeof out->program - 1);
  RB_CHECK(length > 0, RB_EIO, "cannot tell where this program lies");
  RB_TRY(rb_pair_load(data, RB_ANTIALIAS, grid, &out->pair));
  RB_TRY(rb_temporary_make(out->folder, sizeof out->folder));
  const int own = rb_manifest_of_pair(data, &set, &pair) == RB_OK;
  rb_clear();
  RB_TRY(own ? own_files(out, set, pair) : made_files(out));
done:
  rb_manifest_free(set);
  if (st != RB_OK) rb_register_child_free(out);
  return st;
}
void rb_register_child_free(rb_register_child *c) {
  if (c->folder[0]) rb_temporary_remove(c->folder);
  rb_pair_free(&c->pair);
  c->folder[0] = '\0';
}

/* ---- a run ------------------------------------------------------------------------------------------------ */

/* A method of cohorts takes the template as a cohort of one, and no labels. */
static int takes_cohorts(const char *method) {
  const rb_solver *solver;
  const int found = rb_solver_find(method, &solver) == RB_OK;
  rb_clear();
  return found && solver->cohort;
}

rb_status rb_register_child_run(rb_register_child *c, const char *method, const char *variant,
                                const char *const *more) {
  char size[64], out[1100];
  const int cohort = takes_cohorts(method);
  const char *arguments[40] = {c->program,   "register",    method,       cohort ? "--images" : "--template",
                               c->images[0], "--reference", c->images[1], "--variant",
                               variant,      "--size",      size,         "--out",
                               out};
  int count = 13;
  snprintf(size, sizeof size, "%lld,%lld,%lld", (long long)c->grid.n[2], (long long)c->grid.n[1],
           (long long)c->grid.n[0]);
  snprintf(out, sizeof out, "%s/out", c->folder);
  if (c->labels[0][0] && !cohort)
    arguments[count] = "--template-labels", arguments[count + 1] = c->labels[0],
    arguments[count + 2] = "--reference-labels", arguments[count + 3] = c->labels[1], count += 4;
  for (int k = 0; more && more[k] && count < 39; k++) arguments[count++] = more[k];
  rb_status st = rb_child_run(&(rb_child){.folder = c->folder, .interrupted = &rb_interrupted},
                              (char *const *)(size_t)arguments);
  snprintf(out, sizeof out, "%s/out/metrics.json", c->folder);
  if (st == RB_EIO &&
      access(out, R_OK) == 0) { /* not converged: its files are there, and metrics.json tells the end */
    rb_clear();
    st = RB_OK;
  }
  return st;
}

rb_status rb_register_child_clear(rb_register_child *c) {
  char out[1100];
  snprintf(out, sizeof out, "%s/out", c->folder);
  rb_temporary_remove(out);
  return access(out, F_OK) == 0 ? RB_FAIL(RB_EIO, "cannot remove %s", out) : RB_OK;
}

/* ---- what it left ----------------------------------------------------------------------------------------- */

rb_status rb_register_child_vectors(const rb_register_child *c, const char *name, float *out) {
  char path[1200];
  snprintf(path, sizeof path, "%s/out/%s", c->folder, name);
  return rb_displacement_read(path, c->grid, out);
}

rb_status rb_register_child_displacement(const rb_register_child *c, const char *method, float *out) {
  char name[144];
  const char *slash = strrchr(c->images[0], '/'), *file = slash ? slash + 1 : c->images[0];
  if (takes_cohorts(method))
    snprintf(name, sizeof name, "displacement_001_%.*s.nii.gz", (int)fmin(100, (double)strcspn(file, ".")), file);
  else
    snprintf(name, sizeof name, "displacement.nii.gz");
  return rb_register_child_vectors(c, name, out);
}

rb_status rb_register_child_volume(const rb_register_child *c, const char *name, rb_grid grid, rb_volume *v) {
  rb_status st = RB_OK;
  char path[1200];
  snprintf(path, sizeof path, "%s/out/%s", c->folder, name);
  RB_TRY(rb_volume_read(path, v));
  for (int a = 0; a < 3; a++) RB_CHECK(v->grid.n[a] == grid.n[a], RB_EFORMAT, "%s has another grid", path);
done:
  return st;
}

rb_status rb_register_child_metrics(const rb_register_child *c, json_t **out) {
  char path[1200];
  json_error_t error;
  snprintf(path, sizeof path, "%s/out/metrics.json", c->folder);
  *out = json_load_file(path, 0, &error);
  return *out ? RB_OK : RB_FAIL(RB_EFORMAT, "%s: %s", path, error.text);
}

double rb_metrics_number(const json_t *j, const char *outer, const char *inner) {
  const json_t *v = outer ? json_object_get(json_object_get(j, outer), inner) : json_object_get(j, inner);
  return json_is_number(v) ? json_number_value(v) : NAN;
}
