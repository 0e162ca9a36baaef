/* SPDX-License-Identifier: BSD-3-Clause */
#include "datasets/mesh.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

rb_status rb_mesh_reserve(int64_t vertices, int64_t faces, rb_mesh *out) {
  rb_status st = RB_OK;
  *out = (rb_mesh){vertices, faces, malloc((size_t)(3 * vertices + 1) * sizeof(double)),
                   malloc((size_t)(3 * faces + 1) * sizeof(int32_t))};
  RB_CHECK(out->x && out->face, RB_ENOMEM, "host memory: a mesh of %lld vertices and %lld faces", (long long)vertices,
           (long long)faces);
done:
  if (st != RB_OK) rb_mesh_free(out);
  return st;
}
void rb_mesh_free(rb_mesh *mesh) {
  free(mesh->x), free(mesh->face);
  *mesh = (rb_mesh){0};
}

rb_status rb_mesh_check(const rb_mesh *m, const char *name) {
  rb_status st = RB_OK;
  RB_CHECK(m->faces > 0 && m->vertices > 0, RB_EFORMAT, "%s: a surface without faces", name);
  for (int64_t i = 0; i < 3 * m->vertices; i++)
    RB_CHECK(isfinite(m->x[i]), RB_EFORMAT, "%s: vertex %lld is no finite place", name, (long long)(i % m->vertices));
  for (int64_t i = 0; i < 3 * m->faces; i++)
    RB_CHECK(m->face[i] >= 0 && m->face[i] < m->vertices, RB_EFORMAT, "%s: face %lld has vertex %d of %lld", name,
             (long long)(i / 3), (int)m->face[i], (long long)m->vertices);
done:
  return st;
}

static void corner(const rb_mesh *m, int64_t face, int k, double out[3]) {
  for (int a = 0; a < 3; a++) out[a] = m->x[a * m->vertices + m->face[3 * face + k]];
}
static void normal(const double p[3], const double q[3], const double r[3], double out[3]) {
  for (int k = 0; k < 3; k++) {
    const int i = (k + 1) % 3, j = (k + 2) % 3;
    out[k] = 0.5 * ((q[i] - p[i]) * (r[j] - p[j]) - (q[j] - p[j]) * (r[i] - p[i]));
  }
}

/* ---- edges ---------------------------------------------------------------------------------------------------- */

/* Side k of a face, from corner k to the next, with its ends in order. */
typedef struct {
  int32_t low, high;
  int64_t side; /* 3 face + k */
  int forward;  /* the face runs from low to high */
} edge;

static int by_ends(const void *a, const void *b) {
  const edge *p = a, *q = b;
  if (p->low != q->low) return p->low < q->low ? -1 : 1;
  if (p->high != q->high) return p->high < q->high ? -1 : 1;
  return p->side < q->side ? -1 : p->side > q->side;
}
static rb_status sorted_edges(const rb_mesh *m, edge **out) {
  edge *e = malloc((size_t)(3 * m->faces) * sizeof *e);
  if (!e) return RB_FAIL(RB_ENOMEM, "host memory: edges of %lld faces", (long long)m->faces);
  for (int64_t i = 0; i < 3 * m->faces; i++) {
    const int32_t from = m->face[i], to = m->face[i / 3 * 3 + (i + 1) % 3];
    e[i] = (edge){from < to ? from : to, from < to ? to : from, i, from < to};
  }
  qsort(e, (size_t)(3 * m->faces), sizeof *e, by_ends);
  *out = e;
  return RB_OK;
}
/* The number of edges from e[i] on with the same ends. */
static int64_t same_ends(const edge *e, int64_t i, int64_t count) {
  int64_t k = i + 1;
  while (k < count && e[k].low == e[i].low && e[k].high == e[i].high) k++;
  return k - i;
}

rb_status rb_mesh_measure(const rb_mesh *m, rb_mesh_report *r) {
  rb_status st = RB_OK;
  edge *e = NULL;
  *r = (rb_mesh_report){.low = {INFINITY, INFINITY, INFINITY}, .high = {-INFINITY, -INFINITY, -INFINITY}};
  for (int64_t i = 0; i < 3 * m->vertices; i++) {
    const int64_t a = i / m->vertices;
    r->low[a] = fmin(r->low[a], m->x[i]), r->high[a] = fmax(r->high[a], m->x[i]);
  }
  for (int64_t f = 0; f < m->faces; f++) {
    double p[3], q[3], s[3], n[3];
    corner(m, f, 0, p), corner(m, f, 1, q), corner(m, f, 2, s);
    normal(p, q, s, n);
    const double area = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    r->area += area;
    r->degenerate += !(area > 0);
    for (int a = 0; a < 3; a++) r->volume += n[a] * (p[a] + q[a] + s[a]) / 9;
  }
  RB_TRY(sorted_edges(m, &e));
  for (int64_t i = 0, k; i < 3 * m->faces; i += k) {
    k = same_ends(e, i, 3 * m->faces);
    r->border += k == 1, r->crowded += k > 2;
    r->turned += k == 2 && e[i].forward == e[i + 1].forward;
  }
done:
  free(e);
  return st;
}

/* ---- orientation ---------------------------------------------------------------------------------------------- */

/* Faces are visited piece by piece over edges of two; a face whose neighbour disagrees is marked to be turned. */
static rb_status mark_turned(const rb_mesh *m, const char *name, const edge *e, int64_t *partner, char *turn,
                             int32_t *piece, int32_t *pieces) {
  rb_status st = RB_OK;
  const int64_t sides = 3 * m->faces;
  int64_t *queue = malloc((size_t)m->faces * sizeof *queue);
  char *forward = malloc((size_t)sides);
  RB_CHECK(queue && forward, RB_ENOMEM, "host memory");
  for (int64_t i = 0; i < sides; i++) partner[i] = -1, forward[e[i].side] = (char)e[i].forward;
  for (int64_t i = 0, k; i < sides; i += k) {
    k = same_ends(e, i, sides);
    RB_CHECK(k <= 2, RB_EFORMAT, "%s: an edge of %lld faces (vertices %d and %d) has no orientation", name,
             (long long)k, (int)e[i].low, (int)e[i].high);
    if (k == 2) partner[e[i].side] = e[i + 1].side, partner[e[i + 1].side] = e[i].side;
  }
  *pieces = 0;
  for (int64_t f = 0; f < m->faces; f++) piece[f] = -1;
  for (int64_t start = 0; start < m->faces; start++) {
    if (piece[start] >= 0) continue;
    int64_t first = 0, last = 0;
    queue[last++] = start;
    piece[start] = *pieces, turn[start] = 0;
    while (first < last) {
      const int64_t f = queue[first++];
      for (int k = 0; k < 3; k++) {
        const int64_t other = partner[3 * f + k];
        if (other < 0) continue;
        const int64_t g = other / 3;
        const char wanted = (char)(turn[f] ^ (forward[3 * f + k] == forward[other]));
        if (piece[g] < 0) piece[g] = *pieces, turn[g] = wanted, queue[last++] = g;
        RB_CHECK(turn[g] == wanted, RB_EFORMAT, "%s: the surface at face %lld has one side only", name, (long long)g);
      }
    }
    (*pieces)++;
  }
done:
  free(forward), free(queue);
  return st;
}

rb_status rb_mesh_orient(rb_mesh *m, const char *name, int64_t *turned) {
  rb_status st = RB_OK;
  edge *e = NULL;
  int32_t pieces = 0, *piece = malloc((size_t)m->faces * sizeof *piece);
  int64_t *partner = malloc((size_t)(3 * m->faces) * sizeof *partner);
  char *turn = malloc((size_t)m->faces);
  double *volume = NULL;
  *turned = 0;
  RB_CHECK(piece && partner && turn, RB_ENOMEM, "host memory");
  RB_TRY(sorted_edges(m, &e));
  RB_TRY(mark_turned(m, name, e, partner, turn, piece, &pieces));
  volume = calloc((size_t)pieces, sizeof *volume);
  RB_CHECK(volume, RB_ENOMEM, "host memory");
  for (int64_t f = 0; f < m->faces; f++) {
    double p[3], q[3], s[3], n[3];
    corner(m, f, 0, p), corner(m, f, 1, q), corner(m, f, 2, s);
    normal(p, q, s, n);
    for (int a = 0; a < 3; a++) volume[piece[f]] += (turn[f] ? -1 : 1) * n[a] * (p[a] + q[a] + s[a]) / 9;
  }
  for (int64_t i = 0; i < 3 * m->faces; i++)
    if (partner[i] < 0) volume[piece[i / 3]] = fabs(volume[piece[i / 3]]); /* an open piece stays as its first face */
  for (int64_t f = 0; f < m->faces; f++) {
    if (!(turn[f] ^ (volume[piece[f]] < 0))) continue;
    const int32_t b = m->face[3 * f + 1];
    m->face[3 * f + 1] = m->face[3 * f + 2], m->face[3 * f + 2] = b;
    (*turned)++;
  }
done:
  free(volume), free(turn), free(partner), free(piece), free(e);
  return st;
}

void rb_mesh_mirror(rb_mesh *m) {
  for (int64_t v = 0; v < m->vertices; v++) m->x[v] = -m->x[v];
  for (int64_t f = 0; f < m->faces; f++) {
    const int32_t b = m->face[3 * f + 1];
    m->face[3 * f + 1] = m->face[3 * f + 2], m->face[3 * f + 2] = b;
  }
}

/* ---- a sphere ------------------------------------------------------------------------------------------------- */

/* The middle of the side's ends, on the sphere: a vertex of its own once a side, found by both faces. */
static rb_status divide(rb_mesh *m) {
  rb_status st = RB_OK;
  rb_mesh next = {0};
  edge *e = NULL;
  int32_t *middle = malloc((size_t)(3 * m->faces) * sizeof *middle);
  const int64_t vertices = m->vertices + 3 * m->faces / 2;
  int64_t made = m->vertices;
  RB_CHECK(middle, RB_ENOMEM, "host memory");
  RB_TRY(sorted_edges(m, &e));
  RB_TRY(rb_mesh_reserve(vertices, 4 * m->faces, &next));
  for (int a = 0; a < 3; a++)
    memcpy(next.x + a * vertices, m->x + a * m->vertices, (size_t)m->vertices * sizeof(double));
  for (int64_t i = 0; i < 3 * m->faces; i += 2, made++) {
    double v[3], length = 0;
    for (int a = 0; a < 3; a++) {
      v[a] = m->x[a * m->vertices + e[i].low] + m->x[a * m->vertices + e[i].high];
      length += v[a] * v[a];
    }
    for (int a = 0; a < 3; a++) next.x[a * vertices + made] = v[a] / sqrt(length);
    middle[e[i].side] = middle[e[i + 1].side] = (int32_t)made;
  }
  for (int64_t f = 0; f < m->faces; f++) {
    const int32_t *v = m->face + 3 * f, *s = middle + 3 * f;
    const int32_t four[12] = {v[0], s[0], s[2], v[1], s[1], s[0], v[2], s[2], s[1], s[0], s[1], s[2]};
    memcpy(next.face + 12 * f, four, sizeof four);
  }
  rb_mesh_free(m);
  *m = next;
  next = (rb_mesh){0};
done:
  rb_mesh_free(&next);
  free(middle), free(e);
  return st;
}

rb_status rb_mesh_sphere(int divisions, double radius, const double centre[3], rb_mesh *out) {
  static const int32_t faces[20][3] = {{0, 11, 5}, {0, 5, 1},  {0, 1, 7},   {0, 7, 10}, {0, 10, 11},
                                       {1, 5, 9},  {5, 11, 4}, {11, 10, 2}, {10, 7, 6}, {7, 1, 8},
                                       {3, 9, 4},  {3, 4, 2},  {3, 2, 6},   {3, 6, 8},  {3, 8, 9},
                                       {4, 9, 5},  {2, 4, 11}, {6, 2, 10},  {8, 6, 7},  {9, 8, 1}};
  const double golden = (1 + sqrt(5.0)) / 2, length = sqrt(1 + golden * golden);
  rb_status st = RB_OK;
  RB_TRY(rb_mesh_reserve(12, 20, out));
  for (int v = 0; v < 12; v++) { /* (+-1, +-golden, 0), then the axes in turn */
    const double place[3] = {v & 1 ? 1 : -1, v & 2 ? -golden : golden, 0};
    for (int a = 0; a < 3; a++) out->x[(a + (v / 4 == 0 ? 0 : v / 4 == 1 ? 1 : 2)) % 3 * 12 + v] = place[a] / length;
  }
  memcpy(out->face, faces, sizeof faces);
  for (int d = 0; d < divisions; d++) RB_TRY(divide(out));
  for (int64_t i = 0; i < 3 * out->vertices; i++) out->x[i] = centre[i / out->vertices] + radius * out->x[i];
done:
  if (st != RB_OK) rb_mesh_free(out);
  return st;
}
