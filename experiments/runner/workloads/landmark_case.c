/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/workloads/landmark_case.h"

#include "datasets/manifest.h"
#include "experiments/runner/base/interrupt.h"
#include "experiments/runner/workloads/measure.h"
#include "kernels/base/rng.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char synthetic_name[] = "synthetic-";
/* Points of the paper's set, where it is absent; of the float64 twin, arrays of all points: two paths (positions,
 * momenta) of all time points, and the optimiser's vectors. */
enum { PAPER_POINTS = 1847, TWIN_PATHS = 2, TWIN_VECTORS = 50 };

rb_status rb_landmark_case_options(const rb_case *c, rb_landmarks_options *o) {
  rb_status st = RB_OK;
  double steps, evaluations;
  *o = rb_landmarks_defaults();
  o->interrupted = &rb_interrupted;
  RB_TRY(rb_case_number(c, "steps", o->steps, &steps));
  RB_TRY(rb_case_number(c, "evaluations", o->evaluations, &evaluations));
  RB_TRY(rb_case_number(c, "lambda", o->lambda, &o->lambda));
  RB_TRY(rb_case_number(c, "sigma", o->sigma, &o->sigma));
  o->steps = (int)steps, o->evaluations = (int)evaluations;
done:
  return st;
}

rb_status rb_landmark_case_create(const rb_landmarks_config *config, const rb_landmarks_options *options, int64_t n,
                                  int dim, const double *template_points, const double *target, rb_landmarks **out) {
  rb_status st = RB_OK;
  const rb_variant *v;
  rb_landmarks_options o = *options;
  o.dtype = config->dtype;
  RB_TRY(rb_variant_find(&rb_gausssum_family, config->gausssum, &v));
  RB_TRY(rb_landmarks_create(v, &o, n, dim, template_points, target, out));
done:
  return st;
}

size_t rb_landmark_case_bytes(const rb_case *c, int64_t n) {
  const rb_landmarks_config *config = c->variant->ops;
  const rb_variant *sums;
  rb_landmarks_options o;
  size_t bytes = 0;
  if (config && rb_landmark_case_options(c, &o) == RB_OK &&
      rb_variant_find(&rb_gausssum_family, config->gausssum, &sums) == RB_OK) {
    o.dtype = config->dtype;
    bytes = rb_landmarks_predict(sums, &o, n, 3);
  }
  rb_clear();
  return bytes;
}

double rb_landmark_case_objective_limit(const rb_variant *v) { return rb_landmarks_sequential(v) ? 2e-3 : 4e-4; }

/* "synthetic-N": N points in a ball of radius 10 sigma, and where a smooth field moves them. */
static rb_status synthetic(const char *text, rb_points set[2]) {
  rb_status st = RB_OK;
  int64_t n = atoll(text);
  RB_CHECK(n >= 2 && n <= 200000, RB_EINVAL, "synthetic-%s: 2 to 200000 points", text);
  for (int k = 0; k < 2; k++) {
    set[k].n = n, set[k].dim = 3;
    set[k].x = malloc(3 * (size_t)n * sizeof(double));
    RB_CHECK(set[k].x, RB_ENOMEM, "host memory");
  }
  for (int64_t i = 0; i < 3 * n; i++) set[0].x[i] = 15 * rb_rng_symmetric(41, (uint64_t)i);
  for (int64_t i = 0; i < 3 * n; i++) set[1].x[i] = set[0].x[i] + sin(0.2 * set[0].x[(i + n) % (3 * n)]);
done:
  return st;
}

static rb_status load(const char *data, rb_landmark_problem *s) {
  rb_status st = RB_OK;
  rb_manifest *m = NULL;
  char path[PATH_MAX];
  static const char *const files[] = {"shavg_landmarks.vtk", "shooting_target_procrustes.vtk"};
  if (strncmp(data, synthetic_name, strlen(synthetic_name)) == 0)
    return synthetic(data + strlen(synthetic_name), s->set);
  const int lung = strncmp(data, "lung-", 5) == 0 && data[5] >= '1' && data[5] <= '3' && data[6] == '\0',
            mtl = strcmp(data, "mtl") == 0;
  if (lung) s->unit = "voxel";
  const char *set = lung ? "lung-keypoints" : "landmarks-mtl";
  RB_CHECK(lung || mtl, RB_EINVAL, "unknown landmarks '%s': mtl, lung-1 to lung-3, synthetic-N", data);
  RB_TRY(rb_manifest_load(set, &m));
  RB_CHECK(rb_manifest_present(m), RB_ENOTFOUND, "data set %s is absent (regbench data import %s FOLDER)", set, set);
  for (int i = 0; i < 2; i++) {
    char keypoints[32]; /* inspiration, expiration */
    snprintf(keypoints, sizeof keypoints, "LungCT_000%c_000%d.csv", lung ? data[5] : '1', i);
    RB_TRY(rb_manifest_path(m, lung ? keypoints : files[i], path, sizeof path));
    RB_TRY(rb_points_read(path, &s->set[i]));
    if (i) continue;
    RB_TRY(rb_sha256_file(path, s->sha256));
    snprintf(s->file, sizeof s->file, "%s", lung ? keypoints : files[0]);
  }
done:
  rb_manifest_free(m);
  return st;
}

static rb_status load_points(const rb_case *c, rb_landmark_problem *p) {
  const char *points = rb_case_axis(c, "points", NULL);
  p->unit = "mm";
  return points ? synthetic(points, p->set) : load(rb_case_axis(c, "data", "mtl"), p);
}

size_t rb_landmark_case_footprint(const rb_case *c) {
  (void)c;
  return (size_t)1 << 20;
}

void rb_landmark_case_predict(const rb_case *c, int rotations, size_t *backend, size_t *host) {
  rb_landmark_problem p = {0};
  rb_landmarks_options o;
  (void)rotations;
  if (rb_landmark_case_options(c, &o) != RB_OK) rb_clear(); /* setup tells what is wrong with options and points */
  if (load_points(c, &p) != RB_OK) rb_clear();
  const int64_t n = p.set[0].n ? p.set[0].n : PAPER_POINTS;
  *backend = rb_landmark_case_bytes(c, n);
  *host = 3 * (size_t)n * sizeof(double) * ((size_t)TWIN_PATHS * (size_t)o.steps + TWIN_VECTORS);
  rb_landmark_problem_close(&p);
}

rb_status rb_landmark_problem_open(const rb_case *c, rb_landmark_problem *p) {
  rb_status st = RB_OK;
  *p = (rb_landmark_problem){0};
  RB_TRY(rb_landmark_case_options(c, &p->options));
  RB_TRY(load_points(c, p));
done:
  if (st != RB_OK) rb_landmark_problem_close(p);
  return st;
}

rb_status rb_landmark_problem_create(const rb_landmark_problem *p, const rb_landmarks_config *config,
                                     rb_landmarks **out) {
  return rb_landmark_case_create(config, &p->options, p->set[0].n, p->set[0].dim, p->set[0].x, p->set[1].x, out);
}

void rb_landmark_problem_close(rb_landmark_problem *p) {
  for (int i = 0; i < 2; i++) rb_points_free(&p->set[i]);
}
