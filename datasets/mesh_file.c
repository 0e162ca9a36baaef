/* SPDX-License-Identifier: BSD-3-Clause */
#include "datasets/mesh_file.h"

#include "datasets/gifti_structure.h"
#include "datasets/input_file.h"
#include "datasets/whole_file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <gifti/gifti_io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* ---- GIFTI ---------------------------------------------------------------------------------------------------- */

/* The only array of an intent; an error names `what`. */
static rb_status only_array(const char *path, gifti_image *g, int intent, const char *what, giiDataArray **out) {
  rb_status st = RB_OK;
  *out = NULL;
  for (int i = 0; i < g->numDA; i++) {
    if (g->darray[i]->intent != intent) continue;
    RB_CHECK(!*out, RB_EFORMAT, "%s holds more than one array of %s; save one surface a file", path, what);
    *out = g->darray[i];
  }
  RB_CHECK(*out, RB_EFORMAT, "%s holds no %s: it is no surface", path, what);
  RB_CHECK((*out)->num_dim == 2 && (*out)->dims[1] == 3 && (*out)->dims[0] > 0 && (*out)->data, RB_EFORMAT,
           "%s: its %s are no rows of three", path, what);
done:
  return st;
}
/* Value (row, column) of an array of rows of three. */
static rb_status value_of(const char *path, const giiDataArray *a, int64_t row, int column, double *out) {
  const int64_t i = a->ind_ord == GIFTI_IND_ORD_COL_MAJOR ? column * a->dims[0] + row : 3 * row + column;
  if (a->datatype == NIFTI_TYPE_FLOAT32)
    *out = (double)((const float *)a->data)[i];
  else if (a->datatype == NIFTI_TYPE_FLOAT64)
    *out = ((const double *)a->data)[i];
  else if (a->datatype == NIFTI_TYPE_INT32)
    *out = ((const int32_t *)a->data)[i];
  else
    return RB_FAIL(RB_EFORMAT, "%s: an array of NIfTI's data type %d; float32, float64 and int32 are read", path,
                   a->datatype);
  return RB_OK;
}

static double determinant(const double m[4][4]) {
  double d = 0;
  for (int k = 0; k < 3; k++)
    d += m[0][k] * (m[1][(k + 1) % 3] * m[2][(k + 2) % 3] - m[1][(k + 2) % 3] * m[2][(k + 1) % 3]);
  return d;
}
/* The matrix of an array's coordinate system, on all vertices. */
static rb_status apply_system(const char *path, const giiDataArray *a, rb_mesh *m) {
  rb_status st = RB_OK;
  if (a->numCS < 1 || !a->coordsys || !a->coordsys[0]) return RB_OK;
  const double(*t)[4] = (const double(*)[4])a->coordsys[0]->xform;
  RB_CHECK(determinant(t) != 0, RB_EFORMAT, "%s: the matrix of its coordinate system is singular", path);
  for (int64_t v = 0; v < m->vertices; v++) {
    const double p[3] = {m->x[v], m->x[m->vertices + v], m->x[2 * m->vertices + v]};
    for (int r = 0; r < 3; r++)
      m->x[r * m->vertices + v] = t[r][0] * p[0] + t[r][1] * p[1] + t[r][2] * p[2] + t[r][3];
  }
  for (int64_t f = 0; f < m->faces && determinant(t) < 0; f++) {
    const int32_t b = m->face[3 * f + 1];
    m->face[3 * f + 1] = m->face[3 * f + 2], m->face[3 * f + 2] = b;
  }
done:
  return st;
}

/* The parser tells of its own errors on stderr, before our line: not while it reads. NULL: no GIFTI. */
static gifti_image *read_quietly(const char *path) {
  fflush(stderr);
  const int kept = dup(STDERR_FILENO), nowhere = open("/dev/null", O_WRONLY);
  if (kept >= 0 && nowhere >= 0) dup2(nowhere, STDERR_FILENO);
  gifti_set_verb(0);
  gifti_image *g = gifti_read_image(path, 1);
  if (kept >= 0) dup2(kept, STDERR_FILENO), close(kept);
  if (nowhere >= 0) close(nowhere);
  return g;
}

static rb_status read_gifti(const char *path, rb_mesh *out) {
  rb_status st = RB_OK;
  giiDataArray *points, *faces;
  gifti_image *g = NULL;
  RB_TRY(rb_gifti_structure(path));
  g = read_quietly(path);
  RB_CHECK(g, RB_EFORMAT, "%s is no GIFTI that can be read: truncated, or not XML", path);
  RB_TRY(only_array(path, g, NIFTI_INTENT_POINTSET, "vertices (POINTSET)", &points));
  RB_TRY(only_array(path, g, NIFTI_INTENT_TRIANGLE, "faces (TRIANGLE)", &faces));
  RB_TRY(rb_mesh_reserve(points->dims[0], faces->dims[0], out));
  for (int64_t i = 0; i < 3 * out->vertices; i++)
    RB_TRY(value_of(path, points, i % out->vertices, (int)(i / out->vertices), &out->x[i]));
  for (int64_t i = 0; i < 3 * out->faces; i++) {
    double v = 0;
    RB_TRY(value_of(path, faces, i / 3, (int)(i % 3), &v));
    out->face[i] = v >= 0 && v < (double)out->vertices ? (int32_t)v : -1;
  }
  RB_TRY(apply_system(path, points, out));
done:
  gifti_free_image(g);
  return st;
}

rb_status rb_mesh_write(const char *path, const rb_mesh *m) {
  rb_status st = RB_OK;
  const int dims[2] = {(int)m->vertices, 3}, face_dims[2] = {(int)m->faces, 3};
  rb_whole_file w = {0};
  gifti_set_verb(0);
  gifti_image *g = gifti_create_image(1, NIFTI_INTENT_POINTSET, NIFTI_TYPE_FLOAT32, 2, dims, 1);
  RB_CHECK(g && gifti_add_empty_darray(g, 1) == 0, RB_ENOMEM, "host memory");
  RB_TRY(rb_whole_file_name(&w, path));
  giiDataArray *faces = g->darray[1];
  gifti_set_DA_defaults(faces);
  faces->intent = NIFTI_INTENT_TRIANGLE, faces->datatype = NIFTI_TYPE_INT32, faces->num_dim = 2;
  for (int i = 0; i < 2; i++) faces->dims[i] = face_dims[i];
  faces->ind_ord = GIFTI_IND_ORD_ROW_MAJOR, faces->nvals = 3 * m->faces, faces->nbyper = 4;
  faces->endian = g->darray[0]->endian = gifti_get_this_endian();
  faces->encoding = g->darray[0]->encoding = GIFTI_ENCODING_B64GZ;
  faces->data = malloc((size_t)(3 * m->faces) * sizeof(int32_t));
  RB_CHECK(faces->data && g->darray[0]->data, RB_ENOMEM, "host memory");
  memcpy(faces->data, m->face, (size_t)(3 * m->faces) * sizeof(int32_t));
  for (int64_t i = 0; i < 3 * m->vertices; i++)
    ((float *)g->darray[0]->data)[i] = (float)m->x[i % 3 * m->vertices + i / 3];
  RB_CHECK(gifti_write_image(g, w.partial, 1) == 0, RB_EIO, "cannot write %s: %s; is the disk full?", path,
           strerror(errno));
done:
  gifti_free_image(g);
  return rb_whole_file_end(&w, st);
}

/* ---- text ----------------------------------------------------------------------------------------------------- */

typedef struct {
  const char *path, *at, *end;
} cursor;

static rb_status number(cursor *c, const char *what, double *out) {
  char *stop;
  *out = strtod(c->at, &stop);
  if (stop == c->at || stop > c->end)
    return RB_FAIL(RB_EFORMAT, "%s ends, or holds no number, among its %s", c->path, what);
  c->at = stop;
  return RB_OK;
}
/* A count that the rest of the file can hold, at `bytes` an item. */
static rb_status count_of(cursor *c, const char *what, int bytes, int64_t *out) {
  double v;
  rb_status st = number(c, what, &v);
  if (st != RB_OK) return st;
  if (!(v >= 1 && v <= (double)INT32_MAX && v == (double)(int64_t)v))
    return RB_FAIL(RB_EFORMAT, "%s announces %g %s", c->path, v, what);
  if (v * bytes > (double)(c->end - c->at))
    return RB_FAIL(RB_EFORMAT, "%s announces %g %s and is too short for them", c->path, v, what);
  *out = (int64_t)v;
  return RB_OK;
}
/* `count` rows of three coordinates into x [3][count]. */
static rb_status text_points(cursor *c, int64_t count, double *x) {
  for (int64_t i = 0; i < 3 * count; i++)
    if (number(c, "vertices", &x[i % 3 * count + i / 3]) != RB_OK) return RB_EFORMAT;
  return RB_OK;
}
static rb_status put_corner(const char *path, int64_t face, int corner, double v, int32_t *to) {
  if (corner < 0) /* how many follow */
    return v == 3
               ? RB_OK
               : RB_FAIL(RB_EFORMAT, "%s: face %lld has %g corners; only triangles work", path, (long long)face, v);
  *to = v >= 0 && v < (double)INT32_MAX && v == (double)(int32_t)v ? (int32_t)v : -1;
  return RB_OK;
}
static rb_status text_faces(cursor *c, int64_t count, int32_t *face) {
  rb_status st = RB_OK;
  for (int64_t i = 0; i < 4 * count; i++) {
    double v = 0;
    RB_TRY(number(c, "faces", &v));
    RB_TRY(put_corner(c->path, i / 4, (int)(i % 4) - 1, v, &face[3 * (i / 4) + (i % 4 ? i % 4 - 1 : 0)]));
  }
done:
  return st;
}

/* OFF, vertices, faces, edges; then the rows. What stands behind a face in its line (colours) is not read. */
static rb_status read_off(cursor *c, rb_mesh *out) {
  rb_status st = RB_OK;
  int64_t vertices, faces;
  double edges;
  c->at += 3;
  RB_TRY(count_of(c, "vertices", 6, &vertices));
  RB_TRY(count_of(c, "faces", 8, &faces));
  RB_TRY(number(c, "edges", &edges));
  RB_TRY(rb_mesh_reserve(vertices, faces, out));
  RB_TRY(text_points(c, vertices, out->x));
  for (int64_t f = 0; f < faces; f++) {
    double v = 0;
    RB_TRY(number(c, "faces", &v));
    RB_TRY(put_corner(c->path, f, -1, v, NULL));
    for (int k = 0; k < 3; k++) {
      RB_TRY(number(c, "faces", &v));
      RB_TRY(put_corner(c->path, f, k, v, &out->face[3 * f + k]));
    }
    c->at += strcspn(c->at, "\n");
  }
done:
  return st;
}

/* ---- legacy VTK ------------------------------------------------------------------------------------------------ */

/* The next line's beginning, behind blanks. */
static void next_line(cursor *c) {
  while (c->at < c->end && *c->at != '\n') c->at++;
  while (c->at < c->end && isspace((unsigned char)*c->at)) c->at++;
}
static int word(const cursor *c, const char *w) { return strncasecmp(c->at, w, strlen(w)) == 0; }

/* A big-endian value of 4 or 8 bytes. */
static uint64_t big_endian(const unsigned char *p, int bytes) {
  uint64_t v = 0;
  for (int i = 0; i < bytes; i++) v = v << 8 | p[i];
  return v;
}
static rb_status binary_points(cursor *c, int64_t count, int bytes, double *x) {
  c->at += strcspn(c->at, "\n") + 1;
  if (c->end - c->at < 3 * bytes * count)
    return RB_FAIL(RB_EFORMAT, "%s ends among its %lld vertices", c->path, (long long)count);
  for (int64_t i = 0; i < 3 * count; i++) {
    const uint64_t v = big_endian((const unsigned char *)c->at + bytes * i, bytes);
    const uint32_t w = (uint32_t)v;
    float narrow;
    double wide;
    memcpy(&narrow, &w, sizeof narrow), memcpy(&wide, &v, sizeof wide);
    x[i % 3 * count + i / 3] = bytes == 4 ? (double)narrow : wide;
  }
  c->at += 3 * bytes * count;
  return RB_OK;
}
static rb_status binary_faces(cursor *c, int64_t count, int32_t *face) {
  rb_status st = RB_OK;
  c->at += strcspn(c->at, "\n") + 1;
  RB_CHECK(c->end - c->at >= 16 * count, RB_EFORMAT, "%s ends among its %lld faces", c->path, (long long)count);
  for (int64_t i = 0; i < 4 * count; i++) {
    const int32_t v = (int32_t)(uint32_t)big_endian((const unsigned char *)c->at + 4 * i, 4);
    RB_TRY(put_corner(c->path, i / 4, (int)(i % 4) - 1, v, &face[3 * (i / 4) + (i % 4 ? i % 4 - 1 : 0)]));
  }
  c->at += 16 * count;
done:
  return st;
}

static rb_status read_vtk(cursor *c, rb_mesh *out) {
  rb_status st = RB_OK;
  int64_t vertices = 0, faces = 0;
  double size;
  next_line(c), next_line(c); /* version, title */
  const int binary = word(c, "BINARY");
  RB_CHECK(binary || word(c, "ASCII"), RB_EFORMAT, "%s: neither ASCII nor BINARY in its third line", c->path);
  next_line(c);
  RB_CHECK(word(c, "DATASET POLYDATA"), RB_EFORMAT, "%s holds no DATASET POLYDATA", c->path);
  next_line(c);
  RB_CHECK(word(c, "POINTS "), RB_EFORMAT, "%s: no POINTS follow DATASET POLYDATA", c->path);
  c->at += 7;
  RB_TRY(count_of(c, "vertices", 6, &vertices));
  while (*c->at == ' ') c->at++;
  const int wide = word(c, "double");
  RB_CHECK(wide || word(c, "float"), RB_EFORMAT, "%s: its points are neither float nor double", c->path);
  RB_TRY(rb_mesh_reserve(vertices, 1, out)); /* the faces' number is not known yet */
  if (binary) {
    RB_TRY(binary_points(c, vertices, wide ? 8 : 4, out->x));
  } else {
    c->at += wide ? 6 : 5;
    RB_TRY(text_points(c, vertices, out->x));
  }
  while (c->at < c->end && isspace((unsigned char)*c->at)) c->at++;
  RB_CHECK(!word(c, "TRIANGLE_STRIPS"), RB_EFORMAT, "%s holds triangle strips; save it as triangles", c->path);
  RB_CHECK(word(c, "POLYGONS "), RB_EFORMAT, "%s: no POLYGONS follow its points", c->path);
  c->at += 9;
  RB_TRY(count_of(c, "faces", 8, &faces));
  RB_TRY(number(c, "faces", &size));
  RB_CHECK(size == 4.0 * (double)faces, RB_EFORMAT,
           "%s: its polygons are no triangles, or of VTK's format 5.1 (offsets); save it as triangles in format 4.2",
           c->path);
  free(out->face);
  out->faces = faces, out->face = malloc((size_t)(3 * faces) * sizeof(int32_t));
  RB_CHECK(out->face, RB_ENOMEM, "host memory: %lld faces", (long long)faces);
  RB_TRY(binary ? binary_faces(c, faces, out->face) : text_faces(c, faces, out->face));
done:
  return st;
}

/* ---- either --------------------------------------------------------------------------------------------------- */

rb_status rb_mesh_read(const char *path, rb_mesh *out) {
  rb_status st = RB_OK;
  char *text = NULL;
  size_t size;
  *out = (rb_mesh){0};
  RB_TRY(rb_input_text(path, &text, &size));
  cursor c = {path, text, text + size};
  if (strncmp(text, "# vtk", 5) == 0) {
    RB_TRY(read_vtk(&c, out));
  } else if (strncmp(text, "OFF", 3) == 0) {
    RB_TRY(read_off(&c, out));
  } else if (strncmp(text, "<", 1) == 0) {
    RB_TRY(read_gifti(path, out));
  } else {
    RB_CHECK(0, RB_EFORMAT, "%s is no surface: GIFTI, legacy VTK polydata and OFF are read", path);
  }
  RB_TRY(rb_mesh_check(out, path));
done:
  free(text);
  if (st != RB_OK) rb_mesh_free(out);
  return st;
}
