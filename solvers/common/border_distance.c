/* SPDX-License-Identifier: BSD-3-Clause */
/* By a distance transform of each border within the box of both regions: exact squared distances, one axis after the
 * other, each line by the lower envelope of parabolas (Felzenszwalb and Huttenlocher 2012). */
#include "solvers/common/border_distance.h"

#include <math.h>
#include <stdlib.h>

static const double FAR = 1e30; /* mm^2: no border yet; finite, so that differences of it are numbers */

/* Lower envelope of f(j) + (step (i - j))^2 at all i of a line, in place. v, z, room: space for a line. */
static void transform_line(int64_t n, int64_t stride, double step, double *f, int64_t *v, double *z, double *room) {
  int64_t k = 0;
  v[0] = 0, z[0] = -INFINITY, z[1] = INFINITY;
  for (int64_t i = 0; i < n; i++) room[i] = f[i * stride] / (step * step);
  for (int64_t i = 1; i < n; i++) {
    double s;
    /* where the parabola of i crosses that of v[k]; those that it undercuts from their beginning on are dropped */
    while ((s = ((room[i] + (double)(i * i)) - (room[v[k]] + (double)(v[k] * v[k]))) / (double)(2 * (i - v[k]))) <=
           z[k])
      k--;
    k++;
    v[k] = i, z[k] = s, z[k + 1] = INFINITY;
  }
  k = 0;
  for (int64_t i = 0; i < n; i++) {
    while (z[k + 1] < (double)i) k++;
    f[i * stride] = step * step * ((double)((i - v[k]) * (i - v[k])) + room[v[k]]);
  }
}

typedef struct {
  rb_grid grid, box; /* of the maps; of what is looked at */
  int64_t low[3];    /* where the box begins */
  float label;
} region;

static int holds(const region *r, const float *map, const int64_t x[3]) {
  for (int a = 0; a < 3; a++)
    if (x[a] < 0 || x[a] >= r->grid.n[a]) return 0;
  return map[(x[0] * r->grid.n[1] + x[1]) * r->grid.n[2] + x[2]] == r->label;
}

/* Whether voxel i of the box is on the border of map's region. */
static int on_border(const region *r, const float *map, int64_t i) {
  const int64_t x[3] = {r->low[0] + i / r->box.n[2] / r->box.n[1], r->low[1] + i / r->box.n[2] % r->box.n[1],
                        r->low[2] + i % r->box.n[2]};
  if (!holds(r, map, x)) return 0;
  for (int a = 0; a < 3; a++)
    for (int side = -1; side <= 1; side += 2) {
      int64_t y[3] = {x[0], x[1], x[2]};
      y[a] += side;
      if (!holds(r, map, y)) return 1;
    }
  return 0;
}

/* 0: neither map holds the label, or only one does. */
static int find_box(region *r, const float *a, const float *b) {
  int64_t high[3] = {-1, -1, -1}, in_a = 0, in_b = 0;
  for (int k = 0; k < 3; k++) r->low[k] = r->grid.n[k];
  for (int64_t i = 0; i < rb_grid_points(r->grid); i++) {
    if (a[i] != r->label && b[i] != r->label) continue;
    const int64_t x[3] = {i / r->grid.n[2] / r->grid.n[1], i / r->grid.n[2] % r->grid.n[1], i % r->grid.n[2]};
    for (int k = 0; k < 3; k++) {
      if (x[k] < r->low[k]) r->low[k] = x[k];
      if (x[k] > high[k]) high[k] = x[k];
    }
    in_a += a[i] == r->label, in_b += b[i] == r->label;
  }
  if (!in_a || !in_b) return 0;
  r->box = rb_grid_make(high[0] - r->low[0] + 1, high[1] - r->low[1] + 1, high[2] - r->low[2] + 1);
  return 1;
}

/* Squared distances of all voxels of the box to map's border. */
static rb_status squared_distances(const region *r, const double spacing[3], const float *map, double *f) {
  rb_status st = RB_OK;
  const rb_grid g = r->box;
  const int64_t n = rb_grid_points(g), longest = g.n[0] + g.n[1] + g.n[2];
  double *z = malloc((size_t)(2 * longest + 1) * sizeof *z);
  int64_t *v = malloc((size_t)longest * sizeof *v);
  RB_CHECK(z && v, RB_ENOMEM, "host memory");
  for (int64_t i = 0; i < n; i++) f[i] = on_border(r, map, i) ? 0 : FAR;
  for (int a = 2; a >= 0; a--) {
    const int64_t stride = a == 2 ? 1 : a == 1 ? g.n[2] : g.n[1] * g.n[2];
    for (int64_t i = 0; i < n; i++)
      if (i / stride % g.n[a] == 0) transform_line(g.n[a], stride, spacing[a], f + i, v, z, z + longest + 1);
  }
done:
  free(v), free(z);
  return st;
}

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Distances from map's border to the other, whose squared distances are f: sorted into d, their number. */
static int64_t from_border(const region *r, const float *map, const double *f, double *d) {
  int64_t count = 0;
  for (int64_t i = 0; i < rb_grid_points(r->box); i++)
    if (on_border(r, map, i)) d[count++] = sqrt(f[i]);
  qsort(d, (size_t)count, sizeof *d, ascending);
  return count;
}
static double percentile(const double *sorted, int64_t count, double part) {
  const double rank = part * (double)(count - 1), low = floor(rank);
  const int64_t i = (int64_t)low;
  return i + 1 < count ? sorted[i] + (rank - low) * (sorted[i + 1] - sorted[i]) : sorted[count - 1];
}

rb_status rb_border_distance_of(rb_grid grid, const double spacing[3], const float *a, const float *b, float label,
                                rb_border_distance *out) {
  rb_status st = RB_OK;
  region r = {.grid = grid, .label = label};
  const float *maps[2] = {a, b};
  double *f = NULL, *d = NULL, sum = 0;
  int64_t all = 0;
  *out = (rb_border_distance){NAN, NAN, NAN};
  if (!find_box(&r, a, b)) return RB_OK;
  f = malloc((size_t)rb_grid_points(r.box) * sizeof *f), d = malloc((size_t)rb_grid_points(r.box) * sizeof *d);
  RB_CHECK(f && d, RB_ENOMEM, "host memory: %zu bytes for distances", (size_t)rb_grid_points(r.box) * sizeof *f);
  for (int k = 0; k < 2; k++) {
    RB_TRY(squared_distances(&r, spacing, maps[1 - k], f));
    const int64_t count = from_border(&r, maps[k], f, d);
    for (int64_t i = 0; i < count; i++) sum += d[i];
    all += count;
    out->hd95 = fmax(out->hd95, percentile(d, count, 0.95)); /* fmax takes the number where the other is NaN */
    out->largest = fmax(out->largest, d[count - 1]);
  }
  out->mean = sum / (double)all;
done:
  free(d), free(f);
  return st;
}
