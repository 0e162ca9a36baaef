/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/workloads/landmark_cohort.h"

#include "datasets/manifest.h"
#include "datasets/volume.h"
#include "experiments/runner/base/interrupt.h"
#include "experiments/runner/inputs/linear_at.h"
#include "experiments/runner/workloads/measure.h"
#include "experiments/runner/inputs/pairs.h"
#include "experiments/runner/workloads/solve_checks.h"
#include "kernels/base/rng.h"
#include "solvers/claire/claire.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = RB_COHORT_POINTS, LABEL = 13, GRID = 64, WAVES = 6, FLOW_STEPS = 20 };

/* ---- landmarks on a label's surface --------------------------------------------------------------------- */

typedef struct {
  int64_t count;
  double *x; /* [count][3] */
} places;

/* Voxels of the label with a face neighbour that is not, in mm along x1, x2, x3. */
static rb_status surface(const rb_volume *v, places *out) {
  rb_status st = RB_OK;
  const rb_grid g = v->grid;
  const int64_t stride[3] = {g.n[1] * g.n[2], g.n[2], 1};
  out->count = 0;
  out->x = malloc(3 * 200000 * sizeof *out->x);
  RB_CHECK(out->x, RB_ENOMEM, "host memory");
  for (int64_t i = 0; i < rb_grid_points(g) && out->count < 200000; i++) {
    const int64_t at[3] = {i / stride[0], i / g.n[2] % g.n[1], i % g.n[2]};
    int inner = 1;
    if (v->data[i] != LABEL) continue;
    for (int a = 0; a < 3; a++)
      inner = inner && at[a] > 0 && at[a] + 1 < g.n[a] && v->data[i - stride[a]] == LABEL &&
              v->data[i + stride[a]] == LABEL;
    if (inner) continue;
    for (int a = 0; a < 3; a++) out->x[3 * out->count + a] = (double)at[a] * v->spacing[a];
    out->count++;
  }
done:
  return st;
}

/* Dart throwing: places in random order, each kept that is no nearer than `radius` to one kept before. */
static int throw_darts(const places *p, const int64_t *order, double radius, double *out) {
  int kept = 0;
  for (int64_t i = 0; i < p->count && kept <= N; i++) {
    const double *x = p->x + 3 * order[i];
    int clear = 1;
    for (int k = 0; k < kept && clear; k++)
      clear = pow(x[0] - out[3 * k], 2) + pow(x[1] - out[3 * k + 1], 2) + pow(x[2] - out[3 * k + 2], 2) >=
              radius * radius;
    if (!clear) continue;
    if (kept < N) memcpy(out + 3 * kept, x, 3 * sizeof *x);
    kept++;
  }
  return kept;
}

/* The widest disks that leave N points. out [N][3]. */
static rb_status sample(const places *p, double *out) {
  rb_status st = RB_OK;
  double low = 0, high = 10;
  int64_t *order = malloc((size_t)p->count * sizeof *order);
  RB_CHECK(order, RB_ENOMEM, "host memory");
  RB_CHECK(p->count >= N, RB_EFORMAT, "label %d of na01 has %lld surface voxels; %d landmarks are wanted", LABEL,
           (long long)p->count, N);
  for (int64_t i = 0; i < p->count; i++) order[i] = i;
  for (int64_t i = p->count - 1; i > 0; i--) { /* shuffle */
    const int64_t k = (int64_t)(0.5 * (1 + rb_rng_symmetric(91, (uint64_t)i)) * (double)(i + 1)), t = order[i];
    order[i] = order[k], order[k] = t;
  }
  for (int turn = 0; turn < 40; turn++) {
    const double middle = 0.5 * (low + high);
    if (throw_darts(p, order, middle, out) >= N)
      low = middle;
    else
      high = middle;
  }
  throw_darts(p, order, low, out);
done:
  free(order);
  return st;
}

/* ---- to the subjects ------------------------------------------------------------------------------------ */

/* Landmarks of na01 (mm, [N][3]) in the subject, along the displacement that registers the subject to na01; [3][N].
 */
static rb_status carry(const char *subject, rb_grid native, const double spacing[3], const double *from, double *to) {
  rb_status st = RB_OK;
  const rb_grid grid = rb_grid_make(GRID, GRID, GRID);
  const size_t n = (size_t)rb_grid_points(grid);
  rb_pair pair = {0};
  rb_claire *c = NULL;
  const rb_variant *v;
  rb_claire_options o = rb_claire_defaults();
  rb_claire_result *r = calloc(1, sizeof *r);
  float *u = malloc(3 * n * sizeof *u);
  RB_CHECK(r && u, RB_ENOMEM, "host memory");
  o.interrupted = &rb_interrupted;
  RB_TRY(rb_pair_load(subject, RB_ANTIALIAS, grid, &pair));
  RB_TRY(rb_variant_find(&rb_claire_family, "cpu-fd8-linear", &v));
  RB_TRY(rb_claire_create(v, &o, grid, pair.image[RB_TEMPLATE], pair.image[RB_REFERENCE], &c));
  RB_TRY(rb_claire_solve(c, NULL, NULL, r));
  RB_TRY(rb_solve_check_uninterrupted(r->end));
  RB_CHECK(r->end == RB_END_CONVERGED, RB_EINVALID, "%s did not register to na01: no landmarks are carried to it",
           subject);
  RB_TRY(rb_claire_displacement(c, u));
  for (int i = 0; i < N; i++) {
    double x[3];
    for (int a = 0; a < 3; a++) x[a] = (from[3 * i + a] / spacing[a] + 0.5) * GRID / (double)native.n[a] - 0.5;
    for (int a = 0; a < 3; a++)
      to[a * N + i] =
          from[3 * i + a] + rb_linear_at(grid, u + (size_t)a * n, x) * spacing[a] * (double)native.n[a] / GRID;
  }
done:
  rb_claire_destroy(c);
  rb_pair_free(&pair);
  free(u), free(r);
  return st;
}

/* The flow for unit time of v(x) = sum of WAVES sines, some 20 to 40 mm long, random by `seed`: a diffeomorphism. */
static void flow(int seed, const double *from, double *to) {
  double k[WAVES][3], direction[WAVES][3], phase[WAVES];
  for (int w = 0; w < WAVES; w++) {
    for (int a = 0; a < 3; a++) {
      k[w][a] = 0.25 * rb_rng_symmetric(92 + (uint64_t)seed, (uint64_t)(10 * w + a));
      direction[w][a] = 1.4 * rb_rng_symmetric(92 + (uint64_t)seed, (uint64_t)(10 * w + 3 + a));
    }
    phase[w] = 3.14159 * rb_rng_symmetric(92 + (uint64_t)seed, (uint64_t)(10 * w + 6));
  }
  for (int i = 0; i < N; i++) {
    double x[3] = {from[3 * i], from[3 * i + 1], from[3 * i + 2]};
    for (int step = 0; step < FLOW_STEPS; step++) {
      double v[3] = {0, 0, 0};
      for (int w = 0; w < WAVES; w++) {
        const double s = sin(k[w][0] * x[0] + k[w][1] * x[1] + k[w][2] * x[2] + phase[w]);
        for (int a = 0; a < 3; a++) v[a] += direction[w][a] * s;
      }
      for (int a = 0; a < 3; a++) x[a] += v[a] / FLOW_STEPS;
    }
    for (int a = 0; a < 3; a++) to[a * N + i] = x[a];
  }
}

/* ---- Procrustes ----------------------------------------------------------------------------------------- */

/* Greatest eigenvalue's vector of a symmetric 4x4 matrix, by LAPACK. */
extern void dsyev_(const char *jobz, const char *uplo, const int *n, double *a, const int *lda, double *w,
                   double *work, const int *lwork, int *info);

/* Move `points` rigidly onto `onto` (least squares; Horn's quaternion). Both [3][N]; centred on the origin
 * afterwards. */
static rb_status align(const double *onto, double *points) {
  rb_status st = RB_OK;
  const int four = 4, room = 64;
  int info = 0;
  double m[3][3] = {{0}}, q[16], w[4], work[64];
  for (int a = 0; a < 3; a++)
    for (int b = 0; b < 3; b++)
      for (int i = 0; i < N; i++) m[a][b] += points[a * N + i] * onto[b * N + i];
  const double horn[16] = {
      m[0][0] + m[1][1] + m[2][2],  m[1][2] - m[2][1], m[2][0] - m[0][2], m[0][1] - m[1][0], m[1][2] - m[2][1],
      m[0][0] - m[1][1] - m[2][2],  m[0][1] + m[1][0], m[2][0] + m[0][2], m[2][0] - m[0][2], m[0][1] + m[1][0],
      -m[0][0] + m[1][1] - m[2][2], m[1][2] + m[2][1], m[0][1] - m[1][0], m[2][0] + m[0][2], m[1][2] + m[2][1],
      -m[0][0] - m[1][1] + m[2][2]};
  memcpy(q, horn, sizeof q);
  dsyev_("V", "U", &four, q, &four, w, work, &room, &info);
  RB_CHECK(info == 0, RB_EINVALID, "no rotation aligns a subject (LAPACK dsyev: %d)", info);
  const double *e = q + 12, s = e[0], x = e[1], y = e[2], z = e[3];
  const double r[3][3] = {{s * s + x * x - y * y - z * z, 2 * (x * y - s * z), 2 * (x * z + s * y)},
                          {2 * (x * y + s * z), s * s - x * x + y * y - z * z, 2 * (y * z - s * x)},
                          {2 * (x * z - s * y), 2 * (y * z + s * x), s * s - x * x - y * y + z * z}};
  for (int i = 0; i < N; i++) {
    const double p[3] = {points[i], points[N + i], points[2 * N + i]};
    for (int a = 0; a < 3; a++) points[a * N + i] = r[a][0] * p[0] + r[a][1] * p[1] + r[a][2] * p[2];
  }
done:
  return st;
}
static void centre(double *points) {
  for (int a = 0; a < 3; a++) {
    double mean = 0;
    for (int i = 0; i < N; i++) mean += points[a * N + i] / N;
    for (int i = 0; i < N; i++) points[a * N + i] -= mean;
  }
}

/* ---- the cohort ----------------------------------------------------------------------------------------- */

static rb_status make(rb_landmark_cohort *c, int subjects) {
  rb_status st = RB_OK;
  rb_manifest *m = NULL;
  rb_volume labels = {0};
  places found = {0};
  char path[PATH_MAX], name[8];
  double *landmarks = malloc(3 * N * sizeof *landmarks); /* [N][3] */
  RB_CHECK(landmarks, RB_ENOMEM, "host memory");
  RB_TRY(rb_manifest_load("nirep", &m));
  RB_CHECK(rb_manifest_present(m), RB_ENOTFOUND, "data set nirep is absent (regbench data import nirep FOLDER)");
  RB_TRY(rb_manifest_path(m, "na01_seg.nii.gz", path, sizeof path));
  RB_TRY(rb_volume_read(path, &labels));
  RB_TRY(rb_sha256_file(path, c->sha256));
  RB_TRY(surface(&labels, &found));
  RB_TRY(sample(&found, landmarks));
  c->subjects = c->registered = 0;
  for (int s = 2; s <= 16 && c->subjects < subjects; s++) {
    snprintf(name, sizeof name, "na%02d", s);
    st = carry(name, labels.grid, labels.spacing, landmarks, c->target[c->subjects]);
    if (st == RB_ENOTFOUND) { /* a subject that is not there */
      rb_clear();
      st = RB_OK;
      continue;
    }
    RB_TRY(st);
    c->subjects++, c->registered++;
  }
  for (; c->subjects < subjects; c->subjects++) flow(c->subjects, landmarks, c->target[c->subjects]);
  for (int i = 0; i < N; i++)
    for (int a = 0; a < 3; a++) c->template_points[a * N + i] = landmarks[3 * i + a];
  centre(c->template_points);
  for (int s = 0; s < subjects; s++) {
    centre(c->target[s]);
    RB_TRY(align(c->template_points, c->target[s]));
  }
  for (int i = 0; i < 3 * N; i++) {
    double mean = 0;
    for (int s = 0; s < subjects; s++) mean += c->target[s][i] / subjects;
    c->template_points[i] = mean;
  }
done:
  free(landmarks);
  free(found.x);
  rb_volume_free(&labels);
  rb_manifest_free(m);
  return st;
}

rb_status rb_landmark_cohort_make(int subjects, const rb_landmark_cohort **out) {
  rb_status st = RB_OK;
  static rb_landmark_cohort *kept;
  RB_CHECK(subjects >= 1 && subjects <= RB_COHORT_MOST, RB_EINVAL, "%d subjects; 1 to %d work", subjects,
           RB_COHORT_MOST);
  if (!kept) {
    kept = calloc(1, sizeof *kept);
    RB_CHECK(kept, RB_ENOMEM, "host memory");
  }
  if (kept->subjects != subjects) {
    st = make(kept, subjects);
    if (st != RB_OK) {
      kept->subjects = 0;
      goto done;
    }
    const int room = (int)(sizeof kept->inputs / sizeof *kept->inputs);
    for (kept->input_count = 0; kept->input_count < room; kept->input_count++)
      if (!(kept->inputs[kept->input_count] = rb_noted_input(kept->input_count))) break;
  }
  for (int i = 0; i < kept->input_count; i++) rb_note_again(kept->inputs[i]);
  *out = kept;
done:
  return st;
}
