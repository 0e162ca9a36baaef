/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of points and meshes: what is read, what is written back, what is refused. */
#include "tests/ok.h"

#include "datasets/points.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *written(const char *name, const char *text) {
  static char path[256];
  snprintf(path, sizeof path, "/tmp/regbench-points-%d-%s", (int)getpid(), name);
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
  return path;
}
static void refused(const char *path, const char *why) {
  rb_points p;
  assert_int_equal(rb_points_read(path, &p), RB_EFORMAT);
  if (!strstr(rb_message(), why)) fail_msg("'%s' does not tell '%s'", rb_message(), why);
  rb_clear();
  remove(path);
}
static void point_files(void **state) {
  (void)state;
  rb_points p, back;
  const char *path = written(
      "a.vtk",
      "# vtk DataFile Version 2.0\nx\nASCII\nDATASET POLYDATA\nPOINTS 2 float\n1 2 3 4\n5 6\nPOLYGONS 1 3\n2 0 1\n");
  ok(rb_points_read(path, &p));
  assert_true(p.n == 2 && p.dim == 3 && p.x[0] == 1 && p.x[1] == 4 && p.x[5] == 6);
  assert_string_equal(p.rest, "POLYGONS 1 3\n2 0 1\n");
  ok(rb_points_write(path, p.n, p.dim, p.x, &p));
  ok(rb_points_read(path, &back));
  assert_memory_equal(p.x, back.x, 6 * sizeof *p.x);
  assert_string_equal(p.rest, back.rest);
  rb_points_free(&p), rb_points_free(&back);
  remove(path);
  path = written("b.csv", "x,y\n1,2\n3,4\n\n1,2\n");
  ok(rb_points_read(path, &p));
  assert_true(p.n == 3 && p.dim == 2 && p.x[3] == 2);
  assert_int_equal(rb_points_distinct(&p, "b"), RB_EINVAL);
  assert_non_null(strstr(rb_message(), "points 1 and 3 coincide"));
  rb_clear();
  rb_points_free(&p);
  remove(path);
  refused(written("c.csv", "1,2,3\n1,2\n"), "2 coordinates after 3");
  refused(written("d.csv", "1,nan,3\n"), "NaN");
  refused(written("e.csv", ""), "empty");
  refused(written("f.csv", "a,b,c\n"), "no points");
  refused(written("g.vtk", "# vtk DataFile Version 2.0\nx\nBINARY\nPOINTS 2 float\n"), "ASCII");
  refused(written("h.vtk", "# vtk DataFile Version 2.0\nx\nASCII\nPOINTS 2 float\n1 2 3 4"), "1 of 2 points");
  refused(written("i.vtk", "nothing"), "not a legacy VTK");
  /* a first line is a header only where no field of it begins like a number */
  refused(written("j.csv", "1.O,2,3\n4,5,6\n"), "two or three coordinates");
  refused(written("k.csv", "1,,3\n4,5,6\n"), "two or three coordinates");
  refused(written("l.csv", "1,5;2,5\n"), "decimals with a point");
  refused(written("m.vtk", "# vtk DataFile Version 2.0\nx\nASCII\nDATASET POLYDATA\nPOINTS 1 float\n1 2 3\n4 5 6\n"),
          "more than the 1 points");
  refused(
      written("n.vtk", "# vtk DataFile Version 2.0\nwas ASCII\nBINARY\nDATASET POLYDATA\nPOINTS 1 float\n1 2 3\n"),
      "binary VTK");
  path = written("o.csv",
                 "\xef\xbb\xbf"
                 "1,2,3\n4,5,6\n");
  ok(rb_points_read(path, &p));
  assert_true(p.n == 2 && p.x[0] == 1);
  rb_points_free(&p);
  remove(path);
  FILE *f = fopen("/tmp/regbench-points-nul.csv", "w");
  fwrite(
      "1,2\n3,4\n\0"
      "5,6\n",
      1, 13, f);
  fclose(f);
  refused("/tmp/regbench-points-nul.csv", "not a text file");
}
/* What a moved mesh keeps: its kind and cells; attributes with directions go. */
static void meshes_stay_what_they_are(void **state) {
  (void)state;
  static const char head[] = "# vtk DataFile Version 5.1\nmy POINTS 5 of ASCII\nascii\nDATASET UNSTRUCTURED_GRID\n";
  char text[512];
  rb_points p, back;
  snprintf(text, sizeof text,
           "%sPOINTS 2 float\n1 2 3\n4 5 6\nCELLS 2 2\nOFFSETS vtktypeint64\n0 2\nPOINT_DATA 2\nnormals n float\n0 0 "
           "1 0 0 1\n",
           head);
  const char *path = written("p.vtk", text);
  ok(rb_points_read(path, &p));
  assert_string_equal(p.head, head);
  assert_string_equal(p.rest, "CELLS 2 2\nOFFSETS vtktypeint64\n0 2\n");
  ok(rb_points_write(path, p.n, p.dim, p.x, &p));
  ok(rb_points_read(path, &back));
  assert_string_equal(p.head, back.head);
  assert_string_equal(p.rest, back.rest);
  rb_points_free(&p), rb_points_free(&back);
  snprintf(text, sizeof text, "%sPOINTS 1 float\n1 2 3\nPOINT_DATA 1\nSCALARS s float\nLOOKUP_TABLE default\n7\n",
           head);
  path = written("q.vtk", text);
  ok(rb_points_read(path, &p));
  assert_non_null(strstr(p.rest, "SCALARS s"));
  rb_points_free(&p);
  remove(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(point_files), cmocka_unit_test(meshes_stay_what_they_are)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
