/* SPDX-License-Identifier: BSD-3-Clause */
/* By a distance transform of each border within the box of both regions: exact squared distances, one axis after the
 * other, each line by the lower envelope of parabolas (Felzenszwalb and Huttenlocher 2012). */
#include "solvers/common/border_distance.h"

#include "solvers/common/overlap.h"

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

static void extend(rb_label_box *box, const int64_t low[3], const int64_t high[3]) {
  for (int k = 0; k < 3; k++) {
    if (low[k] < box->low[k]) box->low[k] = low[k];
    if (high[k] > box->high[k]) box->high[k] = high[k];
  }
}
/* Of planes of x1, which threads share. */
static void look_at_plane(rb_grid g, const float *const maps[2], int64_t plane, int count, rb_label_box *box) {
  const int64_t each = g.n[1] * g.n[2];
  for (int64_t i = plane * each; i < (plane + 1) * each; i++)
    for (int m = 0; m < 2; m++) {
      const float v = maps[m][i];
      if (!(v >= 0 && v < (float)count) || v != floorf(v)) continue;
      const int64_t x[3] = {plane, i / g.n[2] % g.n[1], i % g.n[2]};
      rb_label_box *own = &box[(int)v];
      own->in[m]++;
      extend(own, x, x);
    }
}
static void empty(rb_grid g, int count, rb_label_box *box) {
  for (int l = 0; l < count; l++) box[l] = (rb_label_box){{g.n[0], g.n[1], g.n[2]}, {-1, -1, -1}, {0, 0}};
}
void rb_label_boxes(rb_grid grid, const float *a, const float *b, int count, rb_label_box *out) {
  const float *const maps[2] = {a, b};
  empty(grid, count, out);
#pragma omp parallel
  {
    rb_label_box own[RB_LABELS];
    empty(grid, count, own);
#pragma omp for schedule(static)
    for (int64_t plane = 0; plane < grid.n[0]; plane++) look_at_plane(grid, maps, plane, count, own);
#pragma omp critical(rb_label_boxes)
    for (int l = 0; l < count; l++) {
      extend(&out[l], own[l].low, own[l].high);
      for (int m = 0; m < 2; m++) out[l].in[m] += own[l].in[m];
    }
  }
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
                                const rb_label_box *box, rb_border_distance *out) {
  rb_status st = RB_OK;
  region r = {.grid = grid, .label = label, .low = {box->low[0], box->low[1], box->low[2]}};
  const float *maps[2] = {a, b};
  double *f = NULL, *d = NULL, sum = 0;
  int64_t all = 0;
  *out = (rb_border_distance){NAN, NAN, NAN};
  if (!box->in[0] || !box->in[1]) return RB_OK;
  r.box =
      rb_grid_make(box->high[0] - box->low[0] + 1, box->high[1] - box->low[1] + 1, box->high[2] - box->low[2] + 1);
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
