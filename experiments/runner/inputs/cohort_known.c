/* SPDX-License-Identifier: BSD-3-Clause */
/* Cohorts that experiments ask for by name. */
#include "datasets/manifest.h"
#include "datasets/phantom.h"
#include "experiments/runner/inputs/cohort.h"
#include "experiments/runner/inputs/linear_at.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Head k: head 0 seen through a smooth deformation of its own, some hundredths of the grid. */
static void deformed_head(rb_grid g, const float *head, int k, float *out) {
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < rb_grid_points(g); i++) {
    const int64_t at[3] = {i / g.n[2] / g.n[1], i / g.n[2] % g.n[1], i % g.n[2]};
    double x[3];
    for (int a = 0; a < 3; a++) {
      const int b = (a + 1) % 3, c = (a + 2) % 3;
      const double y = RB_TWO_PI * (double)at[b] / (double)g.n[b], z = RB_TWO_PI * (double)at[c] / (double)g.n[c];
      x[a] = (double)at[a] +
             (double)g.n[a] * (0.02 * sin(y + 1.3 * k + a) + 0.015 * cos(2 * z - 0.7 * k) + 0.01 * sin(2.1 * k + a));
    }
    out[i] = (float)rb_linear_at(g, head, x);
  }
}

static rb_status make_heads(int images, rb_grid grid, rb_cohort *out) {
  rb_status st = RB_OK;
  const size_t bytes = (size_t)rb_grid_points(grid) * sizeof(float);
  float *head = malloc(bytes);
  RB_CHECK(head, RB_ENOMEM, "host memory: %zu bytes for an image", bytes);
  rb_phantom_head(grid, head, NULL);
  for (int k = 0; k < images; k++) {
    out->image[k] = malloc(bytes);
    RB_CHECK(out->image[k], RB_ENOMEM, "host memory: %zu bytes for an image", bytes);
    deformed_head(grid, head, k, out->image[k]);
    snprintf(out->name[k], sizeof out->name[k], "phantom-%d", k + 1);
  }
done:
  free(head);
  return st;
}

/* The first brains that are here, by number. */
static rb_status read_brains(int images, rb_resampling how, rb_grid grid, rb_cohort *out) {
  rb_status st = RB_OK;
  rb_manifest *m = NULL;
  rb_cohort one = {0};
  char path[PATH_MAX], file[32];
  int found = 0;
  RB_TRY(rb_manifest_load("nirep", &m));
  for (int k = 1; k <= 16 && found < images; k++) {
    const char *files[1] = {path};
    const rb_cohort_request r = {.files = files, .count = 1, .how = how, .grid = grid};
    snprintf(file, sizeof file, "na%02d.nii.gz", k);
    RB_TRY(rb_manifest_path(m, file, path, sizeof path));
    if (access(path, R_OK) != 0) continue;
    RB_TRY(rb_cohort_read(&r, rb_team_self(), &one));
    memcpy(out->name[found], one.name[0], sizeof one.name[0]);
    memcpy(out->sha256[found], one.sha256[0], sizeof one.sha256[0]);
    out->image[found++] = one.image[0];
    one.image[0] = NULL;
    rb_cohort_free(&one);
  }
  RB_CHECK(found == images, RB_ENOTFOUND, "%d images of nirep are asked for and %d are here (regbench data import)",
           images, found);
done:
  rb_cohort_free(&one);
  rb_manifest_free(m);
  return st;
}

rb_status rb_cohort_known(const char *name, int images, rb_resampling how, rb_grid grid, rb_cohort *out) {
  rb_status st = RB_OK;
  *out = (rb_cohort){.grid = grid, .count = images};
  out->image = calloc((size_t)images, sizeof *out->image);
  out->name = calloc((size_t)images, sizeof *out->name);
  out->sha256 = calloc((size_t)images, sizeof *out->sha256);
  RB_CHECK(out->image && out->name && out->sha256, RB_ENOMEM, "host memory");
  RB_TRY(strcmp(name, "phantom") == 0 ? make_heads(images, grid, out) : read_brains(images, how, grid, out));
done:
  if (st != RB_OK) rb_cohort_free(out);
  return st;
}
