/* SPDX-License-Identifier: BSD-3-Clause */
/* Meshes: files of three formats, what is wrong with them, orientation, isosurfaces. */
#include "tests/ok.h"

#include "datasets/isosurface.h"
#include "datasets/mesh_file.h"
#include "datasets/temporary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[256], path[300];
static const double origin[3] = {1, 2, 3};

static void in_folder(const char *name) { snprintf(path, sizeof path, "%s/%s", folder, name); }
static void write_bytes(const char *name, const void *bytes, size_t count) {
  in_folder(name);
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(bytes, 1, count, f), count);
  assert_int_equal(fclose(f), 0);
}

static void same_mesh(const rb_mesh *a, const rb_mesh *b, double within) {
  assert_true(a->vertices == b->vertices && a->faces == b->faces);
  for (int64_t i = 0; i < 3 * a->vertices; i++) assert_true(fabs(a->x[i] - b->x[i]) <= within);
  assert_memory_equal(a->face, b->face, 3 * (size_t)a->faces * sizeof *a->face);
}

/* The header of a legacy VTK file of s, and what stands between points and polygons. */
static char *vtk_of(const rb_mesh *s, int binary, size_t *length) {
  char *text = NULL;
  FILE *f = open_memstream(&text, length);
  fprintf(f, "# vtk DataFile Version 3.0\na sphere\n%s\nDATASET POLYDATA\nPOINTS %lld float\n",
          binary ? "BINARY" : "ASCII", (long long)s->vertices);
  for (int64_t i = 0; i < 3 * s->vertices; i++) {
    const float v = (float)s->x[i % 3 * s->vertices + i / 3];
    uint32_t bits;
    memcpy(&bits, &v, 4);
    if (binary)
      for (int b = 24; b >= 0; b -= 8) fputc((int)(bits >> b & 255), f);
    else
      fprintf(f, "%.9g%c", (double)v, i % 3 == 2 ? '\n' : ' ');
  }
  fprintf(f, "\nPOLYGONS %lld %lld\n", (long long)s->faces, 4 * (long long)s->faces);
  for (int64_t i = 0; i < 4 * s->faces; i++) {
    const int32_t v = i % 4 ? s->face[3 * (i / 4) + i % 4 - 1] : 3;
    if (binary)
      for (int b = 24; b >= 0; b -= 8) fputc((int)((uint32_t)v >> b & 255), f);
    else
      fprintf(f, "%d%c", v, i % 4 == 3 ? '\n' : ' ');
  }
  fclose(f);
  return text;
}

static void files_give_back_what_they_hold(void **state) {
  (void)state;
  rb_mesh s, back;
  size_t length;
  ok(rb_mesh_sphere(2, 10, origin, &s));
  in_folder("sphere.gii");
  ok(rb_mesh_write(path, &s));
  ok(rb_mesh_read(path, &back));
  same_mesh(&s, &back, 1e-6);
  rb_mesh_free(&back);
  for (int binary = 0; binary < 2; binary++) {
    char *text = vtk_of(&s, binary, &length);
    write_bytes("sphere.vtk", text, length);
    free(text);
    ok(rb_mesh_read(path, &back));
    same_mesh(&s, &back, 1e-6);
    rb_mesh_free(&back);
  }
  rb_mesh_free(&s);
}

/* A file that is refused, with a word of the reason. */
static void refuse(const char *name, const char *bytes, rb_status want, const char *word) {
  rb_mesh m;
  write_bytes(name, bytes, strlen(bytes));
  assert_int_equal(rb_mesh_read(path, &m), want);
  if (!strstr(rb_message(), word)) fail_msg("no '%s' in '%s'", word, rb_message());
  assert_null(m.x);
  rb_clear();
}

#define VTK "# vtk DataFile Version 3.0\nt\nASCII\nDATASET POLYDATA\n"
#define TRIANGLE "POINTS 3 float\n0 0 0 1 0 0 0 1 0\n"
#define ARRAY(intent, type, rows, encoding, data)                                                                  \
  "<DataArray Intent=\"NIFTI_INTENT_" intent "\" DataType=\"NIFTI_TYPE_" type                                      \
  "\" ArrayIndexingOrder=\"RowMajorOrder\" Dimensionality=\"2\" Dim0=\"" rows "\" Dim1=\"3\" Encoding=\"" encoding \
  "\" Endian=\"LittleEndian\" ExternalFileName=\"\" ExternalFileOffset=\"\"><Data>" data "</Data></DataArray>"
#define GIFTI(arrays) "<?xml version=\"1.0\"?><GIFTI Version=\"1.0\" NumberOfDataArrays=\"2\">" arrays "</GIFTI>"
#define POINTS3 ARRAY("POINTSET", "FLOAT32", "3", "ASCII", "0 0 0 1 0 0 0 1 0")
#define FACES(encoding, rows, data) ARRAY("TRIANGLE", "INT32", rows, encoding, data)
#define ONE_FACE GIFTI(POINTS3 FACES("GZipBase64Binary", "1", "eJxjYGBgYARiJiAGAAAcAAQ="))
static void bad_files_are_refused(void **state) {
  (void)state;
  rb_mesh m;
  refuse("a.off", "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 3\n", RB_EFORMAT, "vertex 3 of 3");
  refuse("a.off", "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 -2\n", RB_EFORMAT, "face 0");
  refuse("a.off", "OFF\n3 1 0\n0 0 0\n1 nan 0\n0 1 0\n3 0 1 2\n", RB_EFORMAT, "no finite place");
  refuse("a.off", "OFF\n4 1 0\n0 0 0\n1 0 0\n0 1 0\n1 1 0\n4 0 1 2 3\n", RB_EFORMAT, "only triangles");
  refuse("a.off", "OFF\n3 1000000000 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n", RB_EFORMAT, "too short");
  refuse("a.off", "OFF\n3 0 0\n0 0 0\n1 0 0\n0 1 0\n", RB_EFORMAT, "announces 0 faces");
  refuse("a.off", "OFF\n3 1 0\n0.000 0.000 0.000\n1.000 0.000 0.000\n", RB_EFORMAT, "ends");
  refuse("a.vtk", VTK TRIANGLE "POLYGONS 1 5\n4 0 1 2 0\n", RB_EFORMAT, "no triangles");
  refuse("a.vtk", VTK TRIANGLE "TRIANGLE_STRIPS 1 4\n3 0 1 2\n", RB_EFORMAT, "strips");
  refuse("a.vtk", VTK TRIANGLE, RB_EFORMAT, "no POLYGONS");
  refuse("a.vtk", VTK "POINTS 3 int\n0 0 0 1 0 0 0 1 0\n", RB_EFORMAT, "neither float nor double");
  refuse("a.vtk", "# vtk DataFile Version 3.0\nt\nASCII\nDATASET UNSTRUCTURED_GRID\n", RB_EFORMAT, "POLYDATA");
  refuse("a.gii", "<?xml version=\"1.0\"?><GIFTI Version=\"1.0\" NumberOfDataArrays=\"0\"></GIFTI>", RB_EFORMAT, "");
  refuse("a.gii", "<?xml version=\"1.0\"?><GIF", RB_EFORMAT, "");
  refuse("a.gii", GIFTI(POINTS3 FACES("ASCII", "1000000000", "0 1 2")), RB_EFORMAT, "announces 3000000000 values");
  refuse("a.gii", GIFTI(POINTS3 FACES("ASCII", "2", "0 1 2")), RB_EFORMAT, "announces 6 values");
  refuse("a.gii", GIFTI(POINTS3 FACES("Base64Binary", "2", "AAAAAAEAAAACAAAA")), RB_EFORMAT, "announces 6 values");
  refuse("a.gii", GIFTI(POINTS3 FACES("GZipBase64Binary", "2", "eJxjYGBgYARiJiAGAAAcAAQ=")), RB_EFORMAT,
         "announces 6 values");
  refuse("a.gii", GIFTI(POINTS3 FACES("GZipBase64Binary", "1", "eJxj<Data>Y</Data>")), RB_EFORMAT,
         "an element 'Data' in Data");
  refuse("a.gii", GIFTI(POINTS3 POINTS3), RB_EFORMAT, "more than one array of vertices");
  write_bytes("a.gii", ONE_FACE, strlen(ONE_FACE));
  ok(rb_mesh_read(path, &m));
  rb_mesh_free(&m);
  refuse("a.txt", "hello", RB_EFORMAT, "no surface");
  refuse("a.txt", "", RB_EFORMAT, "empty");
  in_folder("absent.gii");
  assert_int_equal(rb_mesh_read(path, &m), RB_ENOTFOUND);
  rb_clear();
  assert_int_equal(rb_mesh_read(folder, &m), RB_EINVAL);
  rb_clear();
  in_folder("pipe.gii");
  assert_int_equal(mkfifo(path, 0600), 0);
  assert_int_equal(rb_mesh_read(path, &m), RB_EINVAL);
  rb_clear();
}

/* A triangle of 3 vertices as a GIFTI in one order of bytes and one coordinate system, [4] rows of text. */
#define ARRAY_IN(intent, type, encoding, endian, order, system, data)                                          \
  "<DataArray Intent=\"NIFTI_INTENT_" intent "\" DataType=\"NIFTI_TYPE_" type "\" ArrayIndexingOrder=\"" order \
  "MajorOrder\" Dimensionality=\"2\" Dim0=\"" ROWS "\" Dim1=\"3\" Encoding=\"" encoding "\" Endian=\"" endian  \
  "Endian\" ExternalFileName=\"\" ExternalFileOffset=\"\">" system "<Data>" data "</Data></DataArray>"
#define SYSTEM(rows)                                                                                                 \
  "<CoordinateSystemTransformMatrix><DataSpace>a</DataSpace><TransformedSpace>b</TransformedSpace><MatrixData>" rows \
  "</MatrixData></CoordinateSystemTransformMatrix>"
static void read_triangle(const char *bytes, const double want[9], const int32_t face[3]) {
  rb_mesh m;
  write_bytes("t.gii", bytes, strlen(bytes));
  ok(rb_mesh_read(path, &m));
  assert_true(m.vertices == 3 && m.faces == 1);
  for (int v = 0; v < 3; v++)
    for (int k = 0; k < 3; k++) assert_true(fabs(m.x[k * 3 + v] - want[3 * v + k]) < 1e-6);
  /* the same cyclic order */
  int first = 0;
  while (first < 2 && m.face[first] != face[0]) first++;
  for (int k = 0; k < 3; k++) assert_int_equal(m.face[(first + k) % 3], face[k]);
  rb_mesh_free(&m);
}
static void gifti_of_other_orders_and_spaces(void **state) {
  (void)state;
  const double plain[9] = {0, 0, 0, 1, 0, 0, 0, 2, 0}, moved[9] = {10, 20, 30, 12, 20, 30, 10, 24, 30},
               mirrored[9] = {0, 0, 0, -1, 0, 0, 0, 2, 0};
  const int32_t face[3] = {0, 1, 2}, turned[3] = {0, 2, 1};
#define ROWS "3"
#define PLACES(system) ARRAY_IN("POINTSET", "FLOAT32", "ASCII", "Little", "Row", system, "0 0 0 1 0 0 0 2 0")
#define PLACES_BIG /* float32, most significant byte first: 1 is 3f800000, 2 is 40000000 */ \
  ARRAY_IN("POINTSET", "FLOAT32", "Base64Binary", "Big", "Row", "",                         \
           "AAAAAAAAAAAAAAAAP4AAAAAAAAAAAAAAAAAAAEAAAAAAAAAA")
#define PLACES_BY_COLUMN ARRAY_IN("POINTSET", "FLOAT32", "ASCII", "Little", "Column", "", "0 1 0 0 0 2 0 0 0")
  enum { ROOM = 4096 };
  char bytes[ROOM];
  static const char *const points[] = {PLACES(""),
                                       PLACES_BIG,
                                       PLACES_BY_COLUMN,
                                       PLACES(SYSTEM("2 0 0 10 0 2 0 20 0 0 2 30 0 0 0 1")),
                                       PLACES(SYSTEM("-1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1")),
                                       PLACES(SYSTEM("0 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1"))};
#undef ROWS
#define ROWS "1"
  static const char *const faces[] = {
      ARRAY_IN("TRIANGLE", "INT32", "ASCII", "Little", "Row", "", "0 1 2"),
      ARRAY_IN("TRIANGLE", "INT32", "Base64Binary", "Big", "Row", "", "AAAAAAAAAAEAAAAC")};
#undef ROWS
  for (int f = 0; f < 2; f++)
    for (int k = 0; k < 5; k++) {
      snprintf(bytes, ROOM, GIFTI("%s%s"), points[k], faces[f]);
      /* a mirror turns the faces, too, or outward became inward */
      read_triangle(bytes, k == 3 ? moved : k == 4 ? mirrored : plain, k == 4 ? turned : face);
    }
  snprintf(bytes, ROOM, GIFTI("%s%s"), points[5], faces[0]);
  refuse("t.gii", bytes, RB_EFORMAT, "is singular");
}

/* A GIFTI that was cut off anywhere is no surface, and no crash. */
static void truncated_gifti(void **state) {
  (void)state;
  rb_mesh s, m;
  size_t length = 0;
  char *bytes = malloc(1 << 20);
  ok(rb_mesh_sphere(1, 10, origin, &s));
  in_folder("whole.gii");
  ok(rb_mesh_write(path, &s));
  FILE *f = fopen(path, "rb");
  length = fread(bytes, 1, 1 << 20, f);
  fclose(f);
  for (int k = 1; k < 8; k++) {
    write_bytes("cut.gii", bytes, length * (size_t)k / 8);
    assert_int_equal(rb_mesh_read(path, &m), RB_EFORMAT);
    rb_clear();
  }
  free(bytes);
  rb_mesh_free(&s);
}

static void orientation_is_found_and_mended(void **state) {
  (void)state;
  rb_mesh s, whole;
  rb_mesh_report r;
  int64_t turned;
  ok(rb_mesh_sphere(2, 10, origin, &s));
  ok(rb_mesh_sphere(2, 10, origin, &whole));
  ok(rb_mesh_measure(&s, &r));
  assert_true(r.turned == 0 && r.border == 0 && r.crowded == 0 && r.degenerate == 0 && r.volume > 0);
  for (int64_t f = 0; f < s.faces; f++)
    if (f % 3 != 1) {
      const int32_t b = s.face[3 * f + 1];
      s.face[3 * f + 1] = s.face[3 * f + 2], s.face[3 * f + 2] = b;
    }
  ok(rb_mesh_measure(&s, &r));
  assert_true(r.turned > 0);
  ok(rb_mesh_orient(&s, "a sphere", &turned));
  same_mesh(&s, &whole, 0);
  rb_mesh_mirror(&s);
  ok(rb_mesh_measure(&s, &r));
  assert_true(r.turned == 0 && r.volume > 0 && r.high[0] < 9.01 + 1e-9);
  s.faces--; /* an open surface keeps the side that its first face has */
  ok(rb_mesh_orient(&s, "an open sphere", &turned));
  ok(rb_mesh_measure(&s, &r));
  assert_true(turned == 0 && r.border == 3);
  s.face[0] = s.face[3], s.face[1] = s.face[4]; /* an edge of three faces */
  if (rb_mesh_measure(&s, &r) == RB_OK && r.crowded > 0)
    assert_int_equal(rb_mesh_orient(&s, "a crowded sphere", &turned), RB_EFORMAT);
  rb_clear();
  rb_mesh_free(&s), rb_mesh_free(&whole);
}

/* A ball's isosurface: closed, outward, of the ball's volume, whichever way the affine turns; coarsened it stays so.
 */
static void isosurfaces_are_closed(void **state) {
  (void)state;
  enum { N = 24 };
  static float ball[N * N * N];
  for (int i = 0; i < N * N * N; i++) {
    const double d[3] = {i % N - 11.3, i / N % N - 11.8, i / N / N - 12.1};
    ball[i] = (float)(8 - sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]) + 0.5);
    if (ball[i] < 0) ball[i] = 0;
  }
  for (int k = 0; k < 4; k++) {
    const rb_affine world = {{{k % 2 ? -2 : 2, 0, 0, 5}, {0, 2, 0, -7}, {0, 0, 2, 1}}, 1};
    rb_mesh m;
    rb_mesh_report r;
    ok(rb_isosurface(rb_grid_make(N, N, N), ball, 0.5, &world, k < 2 ? 0 : 900, &m));
    ok(rb_mesh_measure(&m, &r));
    assert_true(r.border == 0 && r.crowded == 0 && r.turned == 0);
    assert_true(fabs(r.volume / (8 * 4.0 / 3 * M_PI * 512) - 1) < 0.03);
    assert_true(k < 2 ? m.faces > 2000 : m.faces <= 610);
    rb_mesh_free(&m);
  }
  rb_mesh m;
  const rb_affine world = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}, 1};
  assert_int_equal(rb_isosurface(rb_grid_make(N, N, N), ball, 50, &world, 0, &m), RB_EFORMAT);
  rb_clear();
  assert_int_equal(rb_isosurface(rb_grid_make(N, N, N), ball, 0, &world, 0, &m), RB_EINVAL);
  rb_clear();
}

int main(void) {
  ok(rb_temporary_make(folder, sizeof folder));
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(files_give_back_what_they_hold),   cmocka_unit_test(bad_files_are_refused),
      cmocka_unit_test(gifti_of_other_orders_and_spaces), cmocka_unit_test(truncated_gifti),
      cmocka_unit_test(orientation_is_found_and_mended),  cmocka_unit_test(isosurfaces_are_closed),
  };
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  rb_temporary_remove(folder);
  return failed;
}
