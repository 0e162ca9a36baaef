/* SPDX-License-Identifier: BSD-3-Clause */
#include "datasets/isosurface.h"

#include <gts.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  rb_grid grid;
  const float *values;
} volume;

/* Slice k of the volume with a border of zeros: x along rows. GTS' faces look toward greater values, so that the
 * negative volume's look outward. */
static void slice(gdouble **a, GtsCartesianGrid g, guint k, gpointer data) {
  const volume *v = data;
  const int64_t *n = v->grid.n;
  for (guint i = 0; i < g.nx; i++)
    for (guint j = 0; j < g.ny; j++) {
      const int inside = i >= 1 && j >= 1 && k >= 1 && i <= n[2] && j <= n[1] && k <= n[0];
      a[i][j] = inside ? -(double)v->values[((int64_t)(k - 1) * n[1] + (j - 1)) * n[2] + (i - 1)] : 0;
    }
}

/* ---- from GTS' lists to arrays, in an order of their own ---- */

typedef struct {
  double x[3];
  GtsVertex *vertex;
} place;
typedef struct {
  place *places;
  int64_t vertices;
  int32_t *faces; /* [faces][3], unsorted vertices' numbers */
  int64_t count;
  GHashTable *number;
} gathered;

static gint take_vertex(gpointer item, gpointer data) {
  gathered *g = data;
  const GtsPoint *p = GTS_POINT(item);
  g->places[g->vertices++] = (place){{p->x, p->y, p->z}, GTS_VERTEX(item)};
  return 0;
}
static gint take_face(gpointer item, gpointer data) {
  gathered *g = data;
  GtsVertex *v[3];
  gts_triangle_vertices(GTS_TRIANGLE(item), &v[0], &v[1], &v[2]);
  for (int k = 0; k < 3; k++) g->faces[3 * g->count + k] = GPOINTER_TO_INT(g_hash_table_lookup(g->number, v[k])) - 1;
  g->count++;
  return 0;
}
static int by_place(const void *a, const void *b) {
  const place *p = a, *q = b;
  for (int k = 2; k >= 0; k--)
    if (p->x[k] != q->x[k]) return p->x[k] < q->x[k] ? -1 : 1;
  return 0;
}
static int by_corners(const void *a, const void *b) {
  const int32_t *p = a, *q = b;
  for (int k = 0; k < 3; k++)
    if (p[k] != q[k]) return p[k] < q[k] ? -1 : 1;
  return 0;
}

/* Vertices by z, y, x; faces from their least corner, by corners. */
static rb_status to_arrays(GtsSurface *s, rb_mesh *out) {
  rb_status st = RB_OK;
  const int64_t vertices = gts_surface_vertex_number(s), faces = gts_surface_face_number(s);
  gathered g = {.places = malloc((size_t)(vertices + 1) * sizeof *g.places),
                .faces = malloc((size_t)(3 * faces + 1) * sizeof *g.faces),
                .number = g_hash_table_new(NULL, NULL)};
  RB_CHECK(g.places && g.faces, RB_ENOMEM, "host memory");
  gts_surface_foreach_vertex(s, take_vertex, &g);
  qsort(g.places, (size_t)g.vertices, sizeof *g.places, by_place);
  for (int64_t v = 0; v < g.vertices; v++)
    g_hash_table_insert(g.number, g.places[v].vertex, GINT_TO_POINTER((gint)(v + 1)));
  gts_surface_foreach_face(s, take_face, &g);
  for (int64_t f = 0; f < g.count; f++) {
    int32_t *c = g.faces + 3 * f;
    while (c[0] > c[1] || c[0] > c[2]) {
      const int32_t first = c[0];
      c[0] = c[1], c[1] = c[2], c[2] = first;
    }
  }
  qsort(g.faces, (size_t)g.count, 3 * sizeof *g.faces, by_corners);
  RB_TRY(rb_mesh_reserve(g.vertices, g.count, out));
  memcpy(out->face, g.faces, (size_t)(3 * g.count) * sizeof *g.faces);
  for (int a = 0; a < 3; a++)
    for (int64_t v = 0; v < g.vertices; v++) out->x[a * g.vertices + v] = g.places[v].x[a];
done:
  g_hash_table_destroy(g.number);
  free(g.faces), free(g.places);
  return st;
}

static double determinant(const rb_affine *w) {
  double d = 0;
  for (int k = 0; k < 3; k++)
    d += w->m[0][k] * (w->m[1][(k + 1) % 3] * w->m[2][(k + 2) % 3] - w->m[1][(k + 2) % 3] * w->m[2][(k + 1) % 3]);
  return d;
}

rb_status rb_isosurface(rb_grid grid, const float *values, double level, const rb_affine *world, int64_t most,
                        rb_mesh *out) {
  rb_status st = RB_OK;
  volume v = {grid, values};
  const GtsCartesianGrid g = {(guint)grid.n[2] + 2, (guint)grid.n[1] + 2, (guint)grid.n[0] + 2, -1, 1, -1, 1, -1, 1};
  GtsSurface *s = gts_surface_new(gts_surface_class(), gts_face_class(), gts_edge_class(), gts_vertex_class());
  rb_mesh_report r;
  *out = (rb_mesh){0};
  RB_CHECK(level > 0, RB_EINVAL, "a level of %g; it must be positive, as the volume counts as surrounded by 0",
           level);
  gts_isosurface_tetra(s, g, slice, &v, -level);
  RB_CHECK(gts_surface_face_number(s) > 0, RB_EFORMAT, "no voxel reaches the level %g", level);
  if (most > 0) {
    GtsVolumeOptimizedParams params = {0.5, 0.5, 1e-10};
    guint edges = (guint)most;
    gts_surface_coarsen(s, (GtsKeyFunc)gts_volume_optimized_cost, &params,
                        (GtsCoarsenFunc)gts_volume_optimized_vertex, &params, (GtsStopFunc)gts_coarsen_stop_number,
                        &edges, 0);
  }
  RB_TRY(to_arrays(s, out));
  RB_TRY(rb_mesh_measure(out, &r));
  const int turn = (r.volume < 0) != (determinant(world) < 0);
  for (int64_t i = 0; i < out->vertices; i++) {
    const double p[3] = {out->x[i], out->x[out->vertices + i], out->x[2 * out->vertices + i]};
    for (int a = 0; a < 3; a++)
      out->x[a * out->vertices + i] =
          world->m[a][0] * p[0] + world->m[a][1] * p[1] + world->m[a][2] * p[2] + world->m[a][3];
  }
  for (int64_t f = 0; f < out->faces && turn; f++) {
    const int32_t b = out->face[3 * f + 1];
    out->face[3 * f + 1] = out->face[3 * f + 2], out->face[3 * f + 2] = b;
  }
done:
  gts_object_destroy(GTS_OBJECT(s));
  if (st != RB_OK) rb_mesh_free(out);
  return st;
}
