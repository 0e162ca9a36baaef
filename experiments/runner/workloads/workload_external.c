/* SPDX-License-Identifier: BSD-3-Clause */
/* external-registration: a program of others registers the pair, as a child process over NIfTI files in a temporary
 * folder.
 *
 * Axes: size, data, images, iterations, sigma_fluid as for demons; an `update` axis does not apply to it: ITK adds
 * the smoothed update. Timed: the registration with its reading and writing of files, as a user of it would.
 * Verified: it left a warped image that is closer to the reference than the template was. The program's version goes
 * into the record; an absent program is a skip. */
#include "experiments/runner/base/interrupt.h"
#include "experiments/runner/workloads/demons_images.h"
#include "experiments/runner/workloads/measure.h"
#include "experiments/runner/base/temporary.h"
#include "experiments/runner/workloads/workload.h"
#include "solvers/common/overlap.h"
#include "solvers/external/external.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
  const rb_case *c;
  rb_external_options options;
  rb_pair pair;
  char folder[4096], version[128];
} state;

static void predict(const rb_case *c, int rotations, size_t *backend, size_t *host) {
  (void)rotations;
  *backend = 0; /* the child's memory is its own: ITK holds some forty fields */
  *host = 50 * (size_t)rb_grid_points(c->grid) * sizeof(float);
}
static size_t footprint(const rb_case *c) { return (size_t)rb_grid_points(c->grid) * sizeof(float); }

static void teardown(void *p) {
  state *s = p;
  if (!s) return;
  if (s->folder[0]) rb_temporary_remove(s->folder);
  rb_pair_free(&s->pair);
  free(s);
}

/* Without geometry of their own: plastimatch's demons climb instead of descending on images whose voxel axes are not
 * its own. */
static rb_status write_one(const state *s, const char *name, const float *data) {
  char path[4200];
  snprintf(path, sizeof path, "%s/%s", s->folder, name);
  return rb_volume_write(path, NULL, s->pair.grid, data);
}

static rb_status setup(const rb_case *c, const rb_backend *b, int rotations, void **out) {
  rb_status st = RB_OK;
  double iterations;
  state *s = calloc(1, sizeof *s);
  (void)b, (void)rotations;
  RB_CHECK(s, RB_ENOMEM, "host memory");
  s->c = c;
  s->options = rb_external_defaults();
  s->options.interrupted = &rb_interrupted;
  RB_TRY(rb_case_number(c, "iterations", 75, &iterations));
  RB_TRY(rb_case_number(c, "sigma_fluid", 3, &s->options.sigma_fluid));
  s->options.iterations = (int)iterations;
  RB_TRY(rb_external_version(c->variant, s->version, sizeof s->version));
  RB_TRY(rb_demons_case_pair(c, &s->pair));
  RB_TRY(rb_temporary_make(s->folder, sizeof s->folder));
  RB_TRY(write_one(s, "template.nii.gz", s->pair.image[RB_TEMPLATE]));
  RB_TRY(write_one(s, "reference.nii.gz", s->pair.image[RB_REFERENCE]));
  if (s->pair.labels[RB_TEMPLATE]) RB_TRY(write_one(s, "labels.nii.gz", s->pair.labels[RB_TEMPLATE]));
  *out = s;
  s = NULL;
done:
  teardown(s);
  return st;
}

static rb_status run(void *p, int turn) {
  state *s = p;
  (void)turn;
  return rb_external_register(s->c->variant, &s->options, s->folder);
}
/* Nothing of an earlier run may pass for this one's. */
static rb_status poison(void *p, int turn) {
  static const char *const names[] = {"warped", "field", "determinant", "warped_labels"};
  state *s = p;
  char path[4200];
  (void)turn;
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    snprintf(path, sizeof path, "%s/%s.nii.gz", s->folder, names[k]);
    if (unlink(path) != 0 && errno != ENOENT) return RB_FAIL(RB_EIO, "cannot remove %s: %s", path, strerror(errno));
  }
  return RB_OK;
}

static rb_status read_one(const state *s, const char *name, rb_volume *v) {
  rb_status st = RB_OK;
  char path[4200];
  snprintf(path, sizeof path, "%s/%s", s->folder, name);
  RB_TRY(rb_volume_read(path, v));
  for (int a = 0; a < 3; a++)
    RB_CHECK(v->grid.n[a] == s->pair.grid.n[a], RB_EFORMAT, "%s has another grid than the images", path);
done:
  return st;
}

static rb_status verify(void *p, int turn, rb_outcome *o) {
  rb_status st = RB_OK;
  state *s = p;
  rb_volume warped = {0}, det = {0}, labels = {0};
  const float *m = s->pair.image[RB_TEMPLATE], *f = s->pair.image[RB_REFERENCE];
  const int64_t n = rb_grid_points(s->pair.grid);
  double off = 0, was = 0, least = INFINITY, most = -INFINITY, sum = 0;
  (void)turn;
  rb_outcome_data(o, s->pair.file[RB_TEMPLATE], s->pair.sha256[RB_TEMPLATE]);
  RB_TRY(rb_external_results(s->c->variant, s->folder, s->options.interrupted));
  RB_TRY(read_one(s, "warped.nii.gz", &warped));
  RB_TRY(read_one(s, "determinant.nii.gz", &det));
  for (int64_t i = 0; i < n; i++) {
    off += pow((double)(warped.data[i] - f[i]), 2), was += pow((double)(m[i] - f[i]), 2);
    least = fmin(least, (double)det.data[i]), most = fmax(most, (double)det.data[i]), sum += (double)det.data[i];
  }
  rb_outcome_verify(o, "mismatch", off / was, 1, "the template itself");
  rb_outcome_metric(o, "mismatch", off / was, "1", "|M o s - F|^2 / |M - F|^2 on the images' grid");
  rb_outcome_metric(o, "before", was / (double)n, "1", "mean squared difference");
  rb_outcome_metric(o, "after", off / (double)n, "1", "mean squared difference");
  rb_outcome_metric(o, "iterations", s->options.iterations, "1", "asked for");
  rb_outcome_metric(o, "voxels", 1e-6 * (double)n, "M", "of the images");
  rb_outcome_metric(o, "det_min", least, "1", "min of the determinant that the program works out of its field");
  rb_outcome_metric(o, "det_mean", sum / (double)n, "1", "mean");
  rb_outcome_metric(o, "det_max", most, "1", "max");
  if (s->pair.labels[0] && s->pair.labels[1]) {
    RB_TRY(read_one(s, "warped_labels.nii.gz", &labels));
    rb_outcome_verify(o, "labels that are no whole numbers from 0 to 255", rb_overlap_first_bad(n, labels.data) >= 0,
                      0, "a label map");
    const rb_overlap before = rb_overlap_of(n, s->pair.labels[RB_TEMPLATE], s->pair.labels[RB_REFERENCE]),
                     after = rb_overlap_of(n, labels.data, s->pair.labels[RB_REFERENCE]);
    rb_outcome_metric(o, "dice_before", before.all, "1", "2 |A n B| / (|A| + |B|), union of labels");
    rb_outcome_metric(o, "dice_unsmoothed", after.all, "1",
                      "the same after the program's own nearest-neighbour warp");
    rb_outcome_metric(o, "dice_labels", after.mean, "1", "mean over labels of each label's own Dice");
  }
  o->details = json_pack("{s:s,s:s}", "program", s->version, "reference", s->pair.file[RB_REFERENCE]);
done:
  rb_volume_free(&labels), rb_volume_free(&det), rb_volume_free(&warped);
  return st;
}

static const rb_workload_axis axes[] = {{"size", RB_VALUES_SIZE},        {"data", RB_VALUES_PAIRS},
                                        {"images", "bytes antialias"},   {"sigma_fluid", RB_VALUES_NUMBER},
                                        {"iterations", RB_VALUES_COUNT}, {NULL, NULL}};
const rb_workload rb_workload_external = {
    "external-registration", &rb_external_family, predict, footprint, setup, run, poison, verify, teardown, axes};
