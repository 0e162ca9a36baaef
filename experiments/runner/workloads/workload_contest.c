/* SPDX-License-Identifier: BSD-3-Clause */
/* contest: our methods and programs of others on one pair, each through the verb register as a program, each judged
 * by the displacement file that it wrote and by nothing else: images and labels are carried by it here, by one code
 * for all (solvers/common), and what a method says of itself is not read but for its own clock.
 *
 * Timed: the child from start to end, its files included; time_solver is the registration alone, by the child's
 * clock. Verified: the displacement is finite, of the grid and no mere shift, and brings the images nearer. Folds are
 * told, not judged: they are the method's. */
#include "experiments/runner/inputs/label_table.h"
#include "experiments/runner/workloads/register_child.h"
#include "experiments/runner/workloads/workload.h"
#include "solvers/common/by_displacement.h"
#include "solvers/common/displacement_quality.h"
#include "solvers/external/external.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the verb is told. Settings: experiments/contest/README.md says where they stem from. */
typedef struct {
  const char *method, *variant;
  const char *more[8];
} contestant;
static const contestant claire_cpu = {"claire", "cpu-fd8-linear", {NULL}},
                        claire_gpu = {"claire", "fused-fd8-linear", {NULL}}, demons_cpu = {"demons", "cpu", {NULL}},
                        demons_gpu = {"demons", "gpu-fused", {NULL}},
                        atlas_cpu = {"atlas", "cpu-fft", {"--levels", "3", NULL}},
                        atlas_gpu = {"atlas", "gpu-fft-replay", {"--levels", "3", NULL}},
                        itk_demons = {"external", "plastimatch-log-demons", {NULL}},
                        elastix_squares = {"external", "elastix-squares", {"--set", "knots=4", NULL}},
                        elastix_information = {"external", "elastix-information", {"--set", "knots=4", NULL}},
                        ants = {"external", "ants-syn", {NULL}},
                        ants_cc = {"external", "ants-syn", {"--set", "metric=CC", NULL}},
                        greedy = {"external", "greedy", {NULL}};
static const rb_variant variants[] = {
    {"claire-cpu", "", "register claire: first-order Newton-Krylov, all cores", RB_ON_CPU(&claire_cpu)},
    {"claire-gpu", "", "register claire, ours", RB_ON_CUDA(&claire_gpu)},
    {"demons-cpu", "", "register demons: log-demons, all cores", RB_ON_CPU(&demons_cpu)},
    {"demons-gpu", "", "register demons, ours", RB_ON_CUDA(&demons_gpu)},
    {"atlas-cpu", "", "register atlas, one image onto the reference: greedy fluid by transforms, all cores",
     RB_ON_CPU(&atlas_cpu)},
    {"atlas-gpu", "", "register atlas likewise, ours", RB_ON_CUDA(&atlas_gpu)},
    {"itk-log-demons", "", "ITK's log-demons (plastimatch), all cores", RB_ON_CPU(&itk_demons)},
    {"elastix-squares", "", "elastix: B-splines by mean squares, all cores", RB_ON_CPU(&elastix_squares)},
    {"elastix-information", "", "elastix: B-splines by mutual information, all cores",
     RB_ON_CPU(&elastix_information)},
    {"ants-syn", "", "ANTs SyN by mutual information, all cores", RB_ON_CPU(&ants)},
    {"ants-syn-cc", "", "ANTs SyN by cross-correlation, all cores", RB_ON_CPU(&ants_cc)},
    {"greedy", "", "greedy by cross-correlation, all cores", RB_ON_CPU(&greedy)},
};
const rb_family rb_contest_family = {
    .name = "contest",
    .what = "registration programs, ours and others', judged by their displacement files",
    .variants = variants,
    .count = sizeof variants / sizeof *variants,
};

typedef struct {
  const rb_case *c;
  rb_register_child child;
  char version[256]; /* of an external program and its adapter */
} state;

/* The child's: some forty fields of the grid, and the pair's own files. */
static void predict(const rb_case *c, int rotations, size_t *backend, size_t *host) {
  (void)rotations;
  *backend = 40 * (size_t)rb_grid_points(c->grid) * sizeof(float);
  *host = *backend + 12 * (size_t)RB_NIREP_VOXELS * sizeof(float);
}
static size_t footprint(const rb_case *c) { return (size_t)rb_grid_points(c->grid) * sizeof(float); }

static void teardown(void *p) {
  state *s = p;
  if (!s) return;
  rb_register_child_free(&s->child);
  free(s);
}
static rb_status setup(const rb_case *c, const rb_backend *b, int rotations, void **out) {
  rb_status st = RB_OK;
  const contestant *who = c->variant->ops;
  const rb_variant *program;
  rb_adapter *adapter = NULL;
  char version[128];
  state *s = calloc(1, sizeof *s);
  (void)b, (void)rotations;
  RB_CHECK(s, RB_ENOMEM, "host memory");
  s->c = c;
  if (strcmp(who->method, "external") == 0) { /* absent, it is a skip */
    RB_TRY(rb_variant_find(&rb_external_family, who->variant, &program));
    RB_TRY(rb_external_adapter(program, &(rb_external_options){"", ""}, &adapter));
    RB_TRY(rb_adapter_version(adapter, version, sizeof version));
    snprintf(s->version, sizeof s->version, "%.127s; adapter %.12s", version, adapter->sha256);
  }
  RB_TRY(rb_register_child_create(rb_case_axis(c, "data", "phantom"), c->grid, &s->child));
  *out = s;
  s = NULL;
done:
  rb_adapter_free(adapter);
  teardown(s);
  return st;
}
static rb_status run(void *p, int turn) {
  state *s = p;
  const contestant *who = s->c->variant->ops;
  (void)turn;
  const char *more[12] = {"--outputs", "displacement"}; /* by which it is judged */
  for (int k = 0; k < 8 && who->more[k]; k++) more[2 + k] = who->more[k];
  return rb_register_child_run(&s->child, who->method, who->variant, more);
}
static rb_status poison(void *p, int turn) {
  state *s = p;
  (void)turn;
  return rb_register_child_clear(&s->child);
}

/* ---- judgement -------------------------------------------------------------------------------------------- */

static rb_status judge_images(state *s, const float *u, rb_outcome *o) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(s->c->grid);
  const float *m = s->child.pair.image[RB_TEMPLATE], *f = s->child.pair.image[RB_REFERENCE];
  float *warped = malloc((size_t)n * sizeof *warped);
  RB_CHECK(warped, RB_ENOMEM, "host memory");
  RB_TRY(rb_displaced_image(s->c->grid, u, m, warped));
  const double mismatch = rb_mismatch_of(n, m, warped, f).ratio;
  rb_outcome_verify(o, "mismatch", mismatch, 1, "the images as they were");
  rb_outcome_metric(o, "mismatch", mismatch, "1", "|M o s - F|^2 / |M - F|^2, by the displacement");
done:
  free(warped);
  return st;
}

static rb_status judge_field(state *s, const float *u, rb_outcome *o) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(s->c->grid);
  int64_t same = 0;
  float *det = malloc((size_t)n * sizeof *det);
  RB_CHECK(det, RB_ENOMEM, "host memory");
  RB_TRY(rb_displacement_determinant(s->c->grid, u, det));
  for (int64_t i = 0; i < n; i++) same += u[i] == u[0] && u[n + i] == u[n] && u[2 * n + i] == u[2 * n];
  const rb_determinant_summary d = rb_summarise_determinant(n, det);
  rb_outcome_verify(o, "one and the same displacement everywhere", same == n, 0, "a registration");
  rb_outcome_metric(o, "det_min", d.least, "1", "min over voxels of det(I + du/dx)");
  rb_outcome_metric(o, "det_max", d.greatest, "1", "max over voxels of det(I + du/dx)");
  rb_outcome_metric(o, "folds", d.percent_folds, "%", "voxels whose det is not positive");
  rb_outcome_metric(o, "log_det_sd", d.log_sd, "1", "standard deviation of log det where it is positive");
done:
  free(det);
  return st;
}

static rb_status judge_labels(state *s, const float *u, rb_outcome *o) {
  rb_status st = RB_OK;
  const rb_grid g = s->c->grid;
  const rb_pair *pair = &s->child.pair;
  double spacing[3];
  rb_label_table before, after;
  float *carried = malloc((size_t)rb_grid_points(g) * sizeof *carried);
  RB_CHECK(carried, RB_ENOMEM, "host memory");
  for (int a = 0; a < 3; a++)
    spacing[a] = pair->like.header ? pair->like.spacing[a] * (double)pair->like.grid.n[a] / (double)g.n[a] : 1;
  rb_displaced_labels(g, u, pair->labels[RB_TEMPLATE], carried);
  RB_TRY(rb_label_table_of(g, spacing, pair->labels[RB_TEMPLATE], pair->labels[RB_REFERENCE], &before));
  RB_TRY(rb_label_table_of(g, spacing, carried, pair->labels[RB_REFERENCE], &after));
  rb_outcome_metric(o, "dice_before", before.overlap.mean, "1", "mean over labels of 2 |A n B| / (|A| + |B|)");
  rb_outcome_metric(o, "dice", after.overlap.mean, "1", "the same by the displacement, each voxel's nearest label");
  rb_outcome_metric(o, "dice_union", after.overlap.all, "1", "of any label against any label");
  rb_outcome_metric(o, "hd95", after.hd95, "mm", "mean over labels of the 95 % Hausdorff distance");
  rb_outcome_metric(o, "hd95_before", before.hd95, "mm", "the same before");
done:
  free(carried);
  return st;
}

static rb_status verify(void *p, int turn, rb_outcome *o) {
  rb_status st = RB_OK;
  state *s = p;
  const rb_pair *pair = &s->child.pair;
  json_t *metrics = NULL;
  float *u = malloc(3 * (size_t)rb_grid_points(s->c->grid) * sizeof *u);
  (void)turn;
  RB_CHECK(u, RB_ENOMEM, "host memory");
  rb_outcome_data(o, pair->file[RB_TEMPLATE], pair->sha256[RB_TEMPLATE]);
  RB_TRY(rb_register_child_metrics(&s->child, &metrics));
  o->details = json_pack("{s:s,s:s,s:O}", "reference", pair->file[RB_REFERENCE], "reference_sha256",
                         pair->sha256[RB_REFERENCE], "metrics", metrics);
  if (s->version[0]) json_object_set_new(o->details, "program", json_string(s->version));
  RB_TRY(rb_register_child_displacement(&s->child, ((const contestant *)s->c->variant->ops)->method, u));
  RB_TRY(judge_field(s, u, o));
  RB_TRY(judge_images(s, u, o));
  if (pair->labels[0] && pair->labels[1]) RB_TRY(judge_labels(s, u, o));
  rb_outcome_metric(o, "as_asked", json_is_true(json_object_get(metrics, "as_asked")), "1",
                    "1: it ended as its options ask for; 0: its iterations were used up before");
  if (json_object_get(metrics, "energy_cpu_joule"))
    rb_outcome_metric(o, "energy_cpu", rb_metrics_number(metrics, NULL, "energy_cpu_joule"), "J",
                      "of the host's processor packages during the registration");
  rb_outcome_metric(o, "time_solver", rb_metrics_number(metrics, "seconds", "solver"), "s",
                    "the registration alone, by the child's own clock");
done:
  json_decref(metrics);
  free(u);
  return st;
}

static const rb_workload_axis axes[] = {{"size", RB_VALUES_SIZE}, {"data", RB_VALUES_PAIRS}, {NULL, NULL}};
const rb_workload rb_workload_contest = {"contest", &rb_contest_family, predict, footprint, setup, run, poison,
                                         verify,    teardown,           axes,    NULL};
