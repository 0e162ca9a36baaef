/* SPDX-License-Identifier: BSD-3-Clause */
/* register-files: the verb `register claire` as a user runs it, files in, files out (register_child.h).
 *
 * Timed: the child from start to end: loading CUDA, reading, resampling, the solve, det F, labels, compressing and
 * writing. Verified: what lies in the files. The velocity read back has, in float64 on the CPU, the mismatch and
 * gradient that metrics.json tells, and what the same float64 solver makes of it (warped template, displacement, det
 * F) is what the other files hold; labels overlap as metrics.json says. */
#include "experiments/runner/inputs/world_field.h"
#include "experiments/runner/workloads/measure.h"
#include "experiments/runner/workloads/register_child.h"
#include "experiments/runner/workloads/registration.h"
#include "experiments/runner/workloads/solve_checks.h"
#include "experiments/runner/workloads/workload.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Limits: some ten times the worst of the recorded runs, nine in float32 (image 9e-7, displacement 7e-6), four with
 * weights of 8 bits (1.1e-3). Extremes and Dice differ by what the files' float32 and the JSON's digits lose. */
static const double IMAGE_LIMIT = 1e-5, DISPLACEMENT_LIMIT = 1e-4, TEXTURE_FIELD_LIMIT = 0.01, EXTREMES_LIMIT = 1e-7,
                    DICE_LIMIT = 1e-6;
/* The child reads a data set's own files, at the data's resolution: both images and labels, three times over while
 * they are brought to the grid. */
enum { OWN_FILES = 12 };

/* ops: the solver's variant by name */
static const rb_variant variants[] = {
    {"claire-fused-fd8-linear", "", "register claire, ours", RB_ON_CUDA("fused-fd8-linear")},
    {"claire-fused-fd8-cubic", "", "register claire, ours, cubic", RB_ON_CUDA("fused-fd8-cubic")},
    {"claire-gpu-fd8-linear", "", "register claire by the paper's kernels", RB_ON_CUDA("gpu-fd8-linear")},
    {"claire-cpu-fd8-linear", "", "register claire on the CPU", RB_ON_CPU("cpu-fd8-linear")},
};
const rb_family rb_register_family = {
    .name = "register",
    .what = "the verb register as a program: files in, files out",
    .variants = variants,
    .count = sizeof variants / sizeof *variants,
};

typedef struct {
  const rb_case *c;
  rb_register_child child;
} state;

static void predict(const rb_case *c, int rotations, size_t *backend, size_t *host) {
  const rb_claire_options o = rb_claire_defaults();
  const rb_problem_shape shape = {.grid = c->grid, .channels = 1, .templates = 1, .labels = 1};
  const rb_variant *v;
  (void)rotations;
  *backend = *host = 0;
  if (rb_variant_find(&rb_claire_family, c->variant->ops, &v) == RB_OK) {
    rb_solver_claire.predict(v, &o, &shape, backend, host);
    *host = rb_claire_verification_bytes(v, &o, c->grid); /* the child's is freed by then */
  }
  rb_clear();
  *host += OWN_FILES * (size_t)RB_NIREP_VOXELS * sizeof(float);
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
  state *s = calloc(1, sizeof *s);
  (void)rotations;
  RB_CHECK(s, RB_ENOMEM, "host memory");
  s->c = c;
  RB_TRY(rb_register_child_create(rb_case_axis(c, "data", "phantom"), c->grid, &s->child));
  rb_memory_reset_peak(b->kind); /* what making a phantom took is not the child's */
  *out = s;
  s = NULL;
done:
  teardown(s);
  return st;
}

static rb_status run(void *p, int turn) {
  state *s = p;
  (void)turn;
  static const char *const outputs[] = {"--outputs", "warped,velocity,displacement,jacobian,detF,labels", NULL};
  return rb_register_child_run(&s->child, "claire", s->c->variant->ops, outputs);
}
/* Nothing of an earlier run may pass for this one's. */
static rb_status poison(void *p, int turn) {
  state *s = p;
  (void)turn;
  return rb_register_child_clear(&s->child);
}

/* ---- what is verified ------------------------------------------------------------------------------------- */

/* What float64 on the CPU makes of a velocity. */
typedef struct {
  double mismatch, gradient;
  float *displacement, *det; /* [3][n] in cells, [n] */
  rb_volume template_file, reference_file;
  float *warped; /* of the reference's file: the template's read once through the displacement */
} truth;

static void truth_free(truth *t) {
  rb_volume_free(&t->template_file), rb_volume_free(&t->reference_file);
  free(t->warped), free(t->displacement), free(t->det);
}

static rb_status warp_file(const state *s, truth *t) {
  rb_status st = RB_OK;
  const rb_grid g = s->c->grid;
  rb_world_field f = {.lattice = {.grid = g}, .u = t->displacement};
  rb_carried report;
  RB_TRY(rb_volume_read(s->child.images[RB_TEMPLATE], &t->template_file));
  RB_TRY(rb_volume_read(s->child.images[RB_REFERENCE], &t->reference_file));
  const rb_volume *like = &t->reference_file;
  const size_t bytes = (size_t)rb_grid_points(like->grid) * sizeof *t->warped;
  t->warped = malloc(bytes);
  RB_CHECK(t->warped, RB_ENOMEM, "host memory: %zu bytes for an image", bytes);
  f.to_world = rb_volume_affine(like, g);
  RB_CHECK(rb_affine_inverse(&f.to_world, &f.to_voxels), RB_EFORMAT, "the reference's affine has no inverse");
  RB_TRY(rb_carry_image(1, &f, 0, &t->template_file, like, RB_CARRY_LINEAR, t->warped, &report));
done:
  return st;
}

static rb_status truth_of(state *s, const float *velocity, truth *t) {
  rb_status st = RB_OK;
  const size_t n = (size_t)rb_grid_points(s->c->grid);
  const rb_variant *v;
  rb_claire_config config;
  rb_variant wide;
  rb_claire_options o = rb_claire_defaults();
  rb_claire_determinant extremes;
  rb_claire *c = NULL;
  t->displacement = malloc(3 * n * sizeof(float)), t->det = malloc(n * sizeof(float));
  RB_CHECK(t->displacement && t->det, RB_ENOMEM, "host memory");
  RB_TRY(rb_variant_find(&rb_claire_family, s->c->variant->ops, &v));
  rb_claire_twin(v, &config, &wide);
  RB_TRY(rb_claire_create(&wide, &o, s->c->grid, s->child.pair.image[RB_TEMPLATE], s->child.pair.image[RB_REFERENCE],
                          &c));
  RB_TRY(rb_claire_evaluate(c, velocity, &t->mismatch, &t->gradient));
  RB_TRY(rb_claire_displacement(c, t->displacement));
  RB_TRY(warp_file(s, t));
  RB_TRY(rb_claire_jacobian(c, t->det, &extremes));
done:
  rb_claire_destroy(c);
  return st;
}

static rb_status verify_labels(state *s, const json_t *metrics, rb_grid grid, rb_outcome *o) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(grid);
  rb_volume labels = {0}, theirs = {0};
  RB_TRY(rb_register_child_volume(&s->child, "labels.nii.gz", grid, &labels));
  RB_TRY(rb_volume_read(s->child.labels[RB_REFERENCE], &theirs));
  rb_outcome_verify(o, "labels that are no whole numbers from 0 to 255", rb_overlap_first_bad(n, labels.data) >= 0, 0,
                    "a label map");
  const double dice = rb_overlap_of(n, labels.data, theirs.data).all;
  const double told = rb_metrics_number(json_object_get(metrics, "label_table"), "after", "dice_union");
  rb_outcome_verify(o, "Dice of the file's labels against metrics.json", fabs(dice - told), DICE_LIMIT,
                    "metrics.json");
  rb_outcome_metric(o, "dice_unsmoothed", dice, "1", "2 |A n B| / (|A| + |B|), union of the file's labels");
done:
  rb_volume_free(&labels), rb_volume_free(&theirs);
  return st;
}

/* float32 against float64, and weights of 8 bits where the variant's kernels have them. */
static rb_status verify_files(state *s, const json_t *metrics, rb_outcome *o) {
  static const char twin[] = "cpu float64 at the velocity of the file";
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(s->c->grid);
  const rb_variant *variant;
  rb_volume det = {0}, warped = {0};
  truth t = {0};
  float *v = malloc(3 * (size_t)n * sizeof *v);
  RB_CHECK(v, RB_ENOMEM, "host memory");
  RB_TRY(rb_variant_find(&rb_claire_family, s->c->variant->ops, &variant));
  const int texture = rb_claire_weight_bits(variant) != 0;
  RB_TRY(rb_register_child_vectors(&s->child, "velocity.nii.gz", v));
  for (int a = 0; a < 3; a++)
    for (int64_t i = 0; i < n; i++) v[a * n + i] *= (float)rb_grid_spacing(s->c->grid, a); /* cells to radians */
  RB_TRY(truth_of(s, v, &t));
  rb_claire_verify_values(o, texture, rb_metrics_number(metrics, "results", "mismatch"),
                          rb_metrics_number(metrics, "results", "relative_gradient"), t.mismatch, t.gradient, twin);
  const rb_grid own = t.reference_file.grid;
  RB_TRY(rb_register_child_volume(&s->child, "warped.nii.gz", own, &warped));
  rb_outcome_verify(o, "relative l2 distance of the warped image",
                    rb_relative_distance(rb_grid_points(own), warped.data, t.warped),
                    texture ? TEXTURE_FIELD_LIMIT : IMAGE_LIMIT, twin);
  RB_TRY(rb_register_child_vectors(&s->child, "displacement.nii.gz", v));
  rb_outcome_verify(o, "relative l2 distance of the displacement", rb_relative_distance(3 * n, v, t.displacement),
                    texture ? TEXTURE_FIELD_LIMIT : DISPLACEMENT_LIMIT, twin);
  RB_TRY(rb_register_child_volume(&s->child, "detF.nii.gz", s->c->grid, &det));
  rb_outcome_verify(o, "relative l2 distance of det F", rb_relative_distance(n, det.data, t.det),
                    texture ? TEXTURE_FIELD_LIMIT : IMAGE_LIMIT, twin);
  const rb_determinants f = rb_determinants_of(n, det.data);
  rb_outcome_verify(o, "extremes of det F against metrics.json",
                    fabs(f.least - rb_metrics_number(metrics, "detF", "min")) +
                        fabs(f.most - rb_metrics_number(metrics, "detF", "max")),
                    EXTREMES_LIMIT * f.most, "metrics.json");
  rb_solve_verify_orientation(o, "-det F (positive: orientation kept)", f.least);
  rb_outcome_metric(o, "det_min", f.least, "1", "min over voxels of the file's det F");
  rb_outcome_metric(o, "det_max", f.most, "1", "max over voxels of the file's det F");
  if (s->child.labels[0][0]) RB_TRY(verify_labels(s, metrics, own, o));
done:
  rb_volume_free(&det), rb_volume_free(&warped);
  truth_free(&t);
  free(v);
  return st;
}

static rb_status verify(void *p, int turn, rb_outcome *o) {
  rb_status st = RB_OK;
  state *s = p;
  json_t *metrics = NULL;
  (void)turn;
  rb_outcome_data(o, s->child.pair.file[RB_TEMPLATE], s->child.pair.sha256[RB_TEMPLATE]);
  RB_TRY(rb_register_child_metrics(&s->child, &metrics));
  o->details = json_pack("{s:s,s:s,s:O}", "reference", s->child.pair.file[RB_REFERENCE], "reference_sha256",
                         s->child.pair.sha256[RB_REFERENCE], "metrics", metrics);
  RB_TRY(verify_files(s, metrics, o));
  rb_outcome_metric(o, "mismatch", rb_metrics_number(metrics, "results", "mismatch"), "1",
                    "|m(1) - m_R|^2 / |m_T - m_R|^2");
  rb_outcome_metric(o, "gradient", rb_metrics_number(metrics, "results", "relative_gradient"), "1",
                    "|g| / |g(v = 0, beta = 1)|");
  rb_outcome_metric(o, "matvecs", rb_metrics_number(metrics, "results", "hessian_products"), "1",
                    "Hessian products over all levels");
  rb_outcome_metric(o, "time_solver", rb_metrics_number(metrics, "seconds", "solver"), "s",
                    "sum over levels of the optimiser's wall time, by the child's own clock");
  rb_outcome_metric(
      o, "time_files", rb_metrics_number(metrics, "seconds", "files_in_to_files_out"), "s",
      "from the command line read to the last image written, by the child's own clock; CUDA's start is in it");
  rb_outcome_metric(o, "solver_memory", 1e-9 * rb_metrics_number(metrics, NULL, "memory_peak_bytes"), "GB",
                    "high-water mark of the child's solve");
done:
  json_decref(metrics);
  return st;
}

static const rb_workload_axis axes[] = {{"size", RB_VALUES_SIZE}, {"data", RB_VALUES_PAIRS}, {NULL, NULL}};
const rb_workload rb_workload_register_files = {
    "register-files", &rb_register_family, predict, footprint, setup, run, poison, verify, teardown, axes, NULL};
