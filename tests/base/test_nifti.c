/* SPDX-License-Identifier: BSD-3-Clause */
/* NIfTI in and out with everything that can be wrong. */
#include "tests/cmocka_all.h"

#include "datasets/displacement_file.h"
#include "datasets/temporary.h"
#include "datasets/volume.h"
#include "datasets/world.h"
#include "kernels/base/rng.h"

#include <math.h>
#include <nifti2_io.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static char folder[200];

static const char *path_of(const char *name) {
  static char path[256];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

/* A NIfTI-1 file built by hand: header, four zero bytes, float32 voxels; gz by the name. */
static const char *make_file(const char *name, short ndim, short nt, float spacing, float voxel, size_t cut) {
  nifti_1_header h = {0};
  float data[2 * 4 * 3 * 2];
  char extension[4] = {0};
  h.sizeof_hdr = 348;
  short dim[8] = {ndim, 4, 3, 2, nt, 1, 1, 1};
  memcpy(h.dim, dim, sizeof dim);
  h.datatype = 16;
  h.bitpix = 32;
  for (int i = 1; i < 5; i++) h.pixdim[i] = spacing;
  h.pixdim[0] = 1;
  h.vox_offset = 352;
  h.scl_slope = 0;
  memcpy(h.magic, "n+1", 4);
  size_t n = (size_t)24 * (size_t)nt;
  for (size_t i = 0; i < n; i++) data[i] = (float)i;
  data[5] = voxel;
  const char *path = path_of(name);
  if (strstr(name, ".gz")) {
    gzFile f = gzopen(path, "wb");
    gzwrite(f, &h, sizeof h), gzwrite(f, extension, 4), gzwrite(f, data, (unsigned)(n * sizeof(float)));
    gzclose(f);
  } else {
    FILE *f = fopen(path, "wb");
    fwrite(&h, sizeof h, 1, f), fwrite(extension, 4, 1, f), fwrite(data, sizeof(float), n, f);
    fclose(f);
  }
  if (cut) {
    FILE *f = fopen(path, "rb");
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    fclose(f);
    if (truncate(path, size - (long)cut) != 0) return "";
  }
  return path;
}

static void refused(const char *path, rb_status status, const char *must_tell) {
  rb_volume v;
  rb_status got = rb_volume_read(path, &v);
  if (got != status) fail_msg("%s: status %d, not %d", path, got, status);
  if (!strstr(rb_message(), must_tell)) fail_msg("'%s' does not tell '%s'", rb_message(), must_tell);
  rb_clear();
}

static void good_files_are_read(void **s) {
  (void)s;
  rb_volume v;
  assert_int_equal(rb_volume_read(make_file("a.nii", 3, 1, 1.5f, 5, 0), &v), RB_OK);
  assert_int_equal(v.grid.n[0], 2); /* NIfTI z is x1 */
  assert_int_equal(v.grid.n[2], 4);
  assert_true(v.data[23] == 23 && v.spacing[1] == 1.5);
  float doubled[24];
  for (int i = 0; i < 24; i++) doubled[i] = 2 * v.data[i];
  char out[256];
  snprintf(out, sizeof out, "%s", path_of("b.nii.gz"));
  assert_int_equal(rb_volume_write(out, &v, v.grid, doubled), RB_OK);
  rb_volume w;
  assert_int_equal(rb_volume_read(out, &w), RB_OK);
  assert_true(w.data[7] == 14 && w.spacing[0] == 1.5);
  rb_volume_free(&w);
  rb_volume_free(&v);
  assert_int_equal(rb_volume_read(make_file("c.nii.gz", 3, 1, 1, 5, 0), &v), RB_OK);
  rb_volume_free(&v);
}

static void bad_files_are_told(void **s) {
  (void)s;
  refused("/nonexistent.nii", RB_ENOTFOUND, "/nonexistent.nii");
  refused(make_file("cut.nii", 3, 1, 1, 5, 17), RB_EFORMAT, "truncated");
  refused(make_file("cut.nii.gz", 3, 1, 1, 5, 9), RB_EFORMAT, "damaged gzip");
  refused(make_file("four.nii", 4, 2, 1, 5, 0), RB_EFORMAT, "3D image");
  refused(make_file("nan.nii", 3, 1, 1, NAN, 0), RB_EFORMAT, "NaN or infinite, the first at (1, 1, 0)");
  refused(make_file("inf.nii", 3, 1, 1, INFINITY, 0), RB_EFORMAT, "1 voxels");
  refused(make_file("flat.nii", 3, 1, 0, 5, 0), RB_EFORMAT, "spacing");
  FILE *f = fopen(path_of("text.nii"), "w");
  fputs("this is no image", f);
  fclose(f);
  refused(path_of("text.nii"), RB_EFORMAT, "not a NIfTI file");
}

/* make_file's file with `bytes` of its header replaced. */
static const char *with_field(size_t at, const void *value, size_t bytes) {
  const char *path = make_file("field.nii", 3, 1, 1, 5, 0);
  FILE *f = fopen(path, "r+b");
  fseek(f, (long)at, SEEK_SET);
  fwrite(value, bytes, 1, f);
  fclose(f);
  return path;
}
/* NIfTI-2, in this machine's byte order and the other: header, four zero bytes, int16 voxels with a slope. */
static const char *make_nifti2(const char *name, int swapped, int64_t first_voxel, size_t length) {
  nifti_2_header h = {0};
  int16_t voxels[24];
  char bytes[sizeof h + 4 + sizeof voxels] = {0};
  const int64_t dim[8] = {3, 4, 3, 2, 1, 1, 1, 1};
  h.sizeof_hdr = 540;
  memcpy(h.magic, "n+2\0\r\n\032\n", 8);
  memcpy(h.dim, dim, sizeof dim);
  h.datatype = 4, h.bitpix = 16, h.scl_slope = 0.5, h.scl_inter = 1, h.vox_offset = first_voxel;
  h.sform_code = 1;
  for (int i = 0; i < 8; i++) h.pixdim[i] = i == 0 || i > 3 ? 1 : 2;
  h.srow_x[0] = h.srow_y[1] = h.srow_z[2] = 2, h.srow_x[3] = -7;
  for (int i = 0; i < 24; i++) voxels[i] = (int16_t)(i - 4);
  if (swapped) {
    nifti_swap_as_nifti2(&h);
    nifti_swap_2bytes(24, voxels);
  }
  memcpy(bytes, &h, sizeof h), memcpy(bytes + sizeof h + 4, voxels, sizeof voxels);
  const char *path = path_of(name);
  FILE *f = fopen(path, "wb");
  fwrite(bytes, 1, length ? length : sizeof bytes, f);
  fclose(f);
  return path;
}
static void nifti2_is_read(void **state) {
  (void)state;
  for (int swapped = 0; swapped < 2; swapped++) {
    rb_volume v;
    assert_int_equal(rb_volume_read(make_nifti2("two.nii", swapped, 544, 0), &v), RB_OK);
    assert_int_equal(v.grid.n[0], 2), assert_int_equal(v.grid.n[2], 4);
    for (int i = 0; i < 24; i++) assert_float_equal(v.data[i], (float)(0.5 * (i - 4) + 1), 0);
    const rb_affine a = rb_volume_affine(&v, v.grid);
    assert_true(a.known && a.m[0][3] == -7 && a.m[1][1] == 2);
    /* what is written like it is NIfTI-1 of the same place */
    char out[256];
    rb_volume w;
    snprintf(out, sizeof out, "%s", path_of("one-of-two.nii.gz"));
    assert_int_equal(rb_volume_write(out, &v, v.grid, v.data), RB_OK);
    assert_int_equal(rb_volume_read(out, &w), RB_OK);
    assert_true(rb_volume_same_lattice(&v, &w));
    rb_volume_free(&v), rb_volume_free(&w);
  }
  refused(make_nifti2("two.nii", 0, 352, 0), RB_EFORMAT, "from 544 on");
  refused(make_nifti2("two.nii", 0, 544, 500), RB_EFORMAT, "ends within its first 540 bytes");
  refused(make_nifti2("two.nii", 1, 544, 560), RB_EFORMAT, "truncated");
}
/* Fields that the NIfTI library mends in silence, or prints lines of its own for. */
static void headers_that_cannot_be_meant(void **state) {
  (void)state;
  static const struct {
    size_t at;
    float value;
    const char *told;
  } floats[] = {{offsetof(nifti_1_header, vox_offset), 0, "vox_offset"},
                {offsetof(nifti_1_header, vox_offset), -352, "vox_offset"},
                {offsetof(nifti_1_header, vox_offset), NAN, "vox_offset"},
                {offsetof(nifti_1_header, scl_slope), INFINITY, "scl_slope"}};
  static const struct {
    size_t at;
    short value;
    const char *told;
  } shorts[] = {{offsetof(nifti_1_header, sizeof_hdr), 0, "sizeof_hdr"},
                {offsetof(nifti_1_header, bitpix), 16, "bitpix"},
                {offsetof(nifti_1_header, datatype), 4, "bitpix"},
                {offsetof(nifti_1_header, dim) + 2, -4, "voxels along axis 1"},
                {offsetof(nifti_1_header, dim) + 2, 30000, "truncated"}};
  for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
    refused(with_field(floats[i].at, &floats[i].value, sizeof(float)), RB_EFORMAT, floats[i].told);
  for (size_t i = 0; i < sizeof shorts / sizeof *shorts; i++)
    refused(with_field(shorts[i].at, &shorts[i].value, sizeof(short)), RB_EFORMAT, shorts[i].told);
}
/* A file that goes on for long, a folder, and a pipe, which would hang. */
static void files_that_are_none(void **state) {
  (void)state;
  const char *path = make_file("long.nii", 3, 1, 1, 5, 0);
  if (truncate(path, 1 << 22) != 0) fail();
  refused(path, RB_EINVAL, "more than its header announces");
  refused(folder, RB_EINVAL, "is a folder");
  path = path_of("pipe.nii");
  if (mkfifo(path, 0600) != 0) fail();
  alarm(10);
  refused(path, RB_EINVAL, "is a pipe");
  alarm(0);
}

static void gzip_checksum_is_believed(void **s) {
  (void)s;
  const char *path = make_file("flip.nii.gz", 3, 1, 1, 5, 0);
  FILE *f = fopen(path, "r+b");
  fseek(f, -6, SEEK_END); /* inside the stored checksum */
  int c = fgetc(f);
  fseek(f, -6, SEEK_END);
  fputc(c ^ 0xFF, f);
  fclose(f);
  refused(path, RB_EFORMAT, "damaged gzip");
  /* a header that cannot be: told as such in a whole file, as damage in one that is cut */
  refused(make_file("dim.nii.gz", 9, 1, 1, 5, 0), RB_EFORMAT, "the NIfTI header cannot be read");
  refused(make_file("dim-cut.nii.gz", 9, 1, 1, 5, 9), RB_EFORMAT, "damaged gzip");
}

/* Axes that point elsewhere or voxels of another size are told; another origin is none of our business. */
static void axes_are_compared(void **s) {
  (void)s;
  const rb_grid g = rb_grid_make(2, 3, 4);
  float zeros[24] = {0};
  char a[256], b[256];
  struct {
    double spacing, origin;
    rb_status status;
  } others[] = {{2, 0, RB_OK}, {2, -30, RB_OK}, {2.1, 0, RB_EINVAL}};
  rb_volume v;
  const double origin[3] = {0, 0, 0};
  assert_int_equal(rb_volume_geometry(g, 2, origin, &v), RB_OK);
  snprintf(a, sizeof a, "%s", path_of("axes-a.nii"));
  snprintf(b, sizeof b, "%s", path_of("axes-b.nii"));
  assert_int_equal(rb_volume_write(a, &v, g, zeros), RB_OK);
  rb_volume_free(&v);
  for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
    const double moved[3] = {others[k].origin, 0, 0};
    assert_int_equal(rb_volume_geometry(g, others[k].spacing, moved, &v), RB_OK);
    assert_int_equal(rb_volume_write(b, &v, g, zeros), RB_OK);
    rb_volume_free(&v);
    assert_int_equal(rb_volume_same_axes(a, b), others[k].status);
    rb_clear();
  }
  nifti_1_header h; /* the first axis the other way round, as LAS against RAS */
  FILE *f = fopen(b, "r+b");
  assert_int_equal(fread(&h, sizeof h, 1, f), 1);
  h.srow_x[0] = -2, h.pixdim[1] = 2, h.srow_y[1] = 2, h.srow_z[2] = 2;
  rewind(f);
  fwrite(&h, sizeof h, 1, f);
  fclose(f);
  assert_int_equal(rb_volume_same_axes(a, b), RB_EINVAL);
  assert_non_null(strstr(rb_message(), "oriented differently"));
  rb_clear();
}

static void a_write_that_fails_leaves_nothing(void **s) {
  (void)s;
  const rb_grid g = rb_grid_make(32, 32, 32);
  const size_t n = (size_t)rb_grid_points(g);
  float *data = calloc(n, sizeof *data);
  char out[256], part[300];
  assert_int_equal(rb_volume_write("/nonexistent-folder/x.nii", NULL, g, data), RB_EIO);
  rb_clear();
  struct rlimit old, small = {10000, 10000}; /* as a disk that is full after 10 kB */
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
  small.rlim_max = old.rlim_max;
  signal(SIGXFSZ, SIG_IGN);
  for (int compressed = 0; compressed < 2; compressed++) {
    for (size_t i = 0; i < n; i++) data[i] = (float)rb_rng_uniform(3, i);
    snprintf(out, sizeof out, "%s", path_of(compressed ? "full.nii.gz" : "full.nii"));
    snprintf(part, sizeof part, "%s.part", out);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const rb_status st = rb_volume_write(out, NULL, g, data);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(st, RB_EIO);
    assert_non_null(strstr(rb_message(), out));
    rb_clear();
    assert_true(access(out, F_OK) != 0 && access(part, F_OK) != 0);
  }
  free(data);
}

/* Several gzip members and a short last one: bit for bit, by this reader and by the NIfTI library's own. Vectors by
 * the library, too: its x, y, z are our third, second and first, in millimetres of voxels of 2 x 4 x 8 mm. */
static void large_files_come_back(void **s) {
  (void)s;
  const rb_grid g = rb_grid_make(75, 80, 96);
  const size_t n = (size_t)rb_grid_points(g);
  const double origin[3] = {1, 2, 3};
  rb_volume like, v;
  char out[256];
  float *data = malloc(3 * n * sizeof *data), *back = malloc(3 * n * sizeof *back);
  for (size_t i = 0; i < 3 * n; i++) data[i] = (float)rb_rng_symmetric(7, i);
  const float mm[3] = {2, 4, 8}; /* along x, y, z */
  assert_int_equal(rb_volume_geometry(g, 2, origin, &like), RB_OK);
  nifti_image *header = like.header;
  for (int a = 0; a < 3; a++) header->pixdim[1 + a] = mm[a], like.spacing[2 - a] = (double)mm[a];
  header->dx = mm[0], header->dy = mm[1], header->dz = mm[2];
  for (int compressed = 0; compressed < 2; compressed++) {
    snprintf(out, sizeof out, "%s", path_of(compressed ? "large.nii.gz" : "large.nii"));
    assert_int_equal(rb_volume_write(out, &like, g, data), RB_OK);
    assert_int_equal(rb_volume_read(out, &v), RB_OK);
    assert_memory_equal(v.data, data, n * sizeof *data);
    assert_true(v.spacing[0] == 8 && v.spacing[2] == 2);
    rb_volume_free(&v);
    nifti_image *h = nifti_image_read(out, 1);
    assert_non_null(h);
    assert_memory_equal(h->data, data, n * sizeof *data);
    nifti_image_free(h);
    snprintf(out, sizeof out, "%s", path_of(compressed ? "vectors.nii.gz" : "vectors.nii"));
    assert_int_equal(rb_displacement_write(out, &like, g, data), RB_OK);
    assert_int_equal(rb_displacement_read(out, g, back), RB_OK);
    assert_memory_equal(back, data, 3 * n * sizeof *data); /* powers of two round nothing */
    assert_int_equal(rb_displacement_read(out, rb_grid_make(75, 80, 95), back), RB_EFORMAT);
    rb_clear();
  }
  rb_volume_free(&like);
  free(back), free(data);
}

static int set_up(void **s) {
  (void)s;
  return rb_temporary_make(folder, sizeof folder) == RB_OK ? 0 : -1;
}
static int tear_down(void **s) {
  (void)s;
  rb_temporary_remove(folder);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(good_files_are_read),
      cmocka_unit_test(bad_files_are_told),
      cmocka_unit_test(gzip_checksum_is_believed),
      cmocka_unit_test(headers_that_cannot_be_meant),
      cmocka_unit_test(nifti2_is_read),
      cmocka_unit_test(files_that_are_none),
      cmocka_unit_test(axes_are_compared),
      cmocka_unit_test(a_write_that_fails_leaves_nothing),
      cmocka_unit_test(large_files_come_back),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
