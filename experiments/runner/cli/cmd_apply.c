/* SPDX-License-Identifier: BSD-3-Clause */
/* apply: images, labels, points and meshes carried by displacement files. */
#include "datasets/mesh_file.h"
#include "datasets/points.h"
#include "experiments/runner/cli/commands.h"
#include "experiments/runner/cli/exit_codes.h"
#include "experiments/runner/inputs/world_field.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char apply_help[] =
    "usage: regbench apply FIELD... FILE --out OUT [--inverse] [--like IMAGE] [--interpolation NAME] [--lps]\n\n"
    "carries FILE from the template of a registration to its reference, by the displacement that `register`, ANTs,\n"
    "ITK, elastix or plastimatch wrote: an image is read at x + u(x); points move by the inverse map, and so stay\n"
    "with it\n\n"
    "FIELD           NIfTI, 5D, mm left, posterior, superior; several: the first is the reference's, as in "
    "antsApplyTransforms\n"
    "FILE            an image (.nii, .nii.gz), points (.csv, .vtk), or a mesh (.gii, .off)\n"
    "--inverse       from the reference to the template: the inverse map is found at every voxel (Newton)\n"
    "--like          lattice of the result; default the first field's (with --inverse the last one's)\n"
    "--interpolation linear (default), cubic, nearest, or labels (the label with most of the linear weights)\n"
    "--lps           points are mm left, posterior, superior, as ITK and ANTs take them; default right, anterior, "
    "superior\n\n"
    "Outside of the image the result is 0. Whole numbers stay whole numbers (int16) with nearest and labels.\n\n"
    "exit codes: 0 fine, 2 usage or bad input, 8 OUT cannot be written or memory does not suffice\n";

enum { MOST_FIELDS = 16 };
typedef struct {
  const char *field[MOST_FIELDS], *file, *out, *like;
  int fields, inverse, lps;
  rb_carry how;
} wishes;

static int ends(const char *path, const char *ending) {
  const size_t n = strlen(path), k = strlen(ending);
  return n > k && strcmp(path + n - k, ending) == 0;
}
static int is_image(const char *path) { return ends(path, ".nii") || ends(path, ".nii.gz"); }
static int is_points(const char *path) { return ends(path, ".csv") || ends(path, ".vtk"); }
static int is_mesh(const char *path) { return ends(path, ".gii") || ends(path, ".off"); }

/* By whatever name: a link, another way to the folder. */
static int is_same_file(const char *a, const char *b) {
  struct stat x, y;
  return b && stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}
static int refuse_overwriting(const char *out) {
  return rb_usage("apply", "--out %s is an input; it would be overwritten", out);
}

static int parse(int argc, char **argv, wishes *w) {
  const char *value;
  *w = (wishes){0};
  for (int i = 0; i < argc; i++) {
    if ((value = rb_option(argc, argv, &i, "--out"))) {
      w->out = value;
    } else if ((value = rb_option(argc, argv, &i, "--like"))) {
      w->like = value;
    } else if ((value = rb_option(argc, argv, &i, "--interpolation"))) {
      if (rb_carry_parse(value, &w->how) != RB_OK) return rb_usage("apply", "%s", rb_message());
    } else if (strcmp(argv[i], "--inverse") == 0) {
      w->inverse = 1;
    } else if (strcmp(argv[i], "--lps") == 0) {
      w->lps = 1;
    } else if (argv[i][0] == '-') {
      return rb_usage("apply", "unknown option '%s'", argv[i]);
    } else {
      if (w->file && w->fields == MOST_FIELDS) return rb_usage("apply", "%d fields at most", MOST_FIELDS);
      if (w->file) w->field[w->fields++] = w->file;
      w->file = argv[i];
    }
  }
  if (!w->fields) return rb_usage("apply", "a field and a file are needed");
  if (!w->out || !*w->out) return rb_usage("apply", "--out names the result");
  if (is_same_file(w->out, w->file) || is_same_file(w->out, w->like)) return refuse_overwriting(w->out);
  for (int k = 0; k < w->fields; k++)
    if (is_same_file(w->out, w->field[k])) return refuse_overwriting(w->out);
  if (!is_image(w->file) && !is_points(w->file) && !is_mesh(w->file))
    return rb_usage("apply", "%s: .nii, .nii.gz, .csv, .vtk, .gii or .off", w->file);
  if (is_image(w->file) != is_image(w->out) || is_points(w->file) != is_points(w->out) ||
      (is_mesh(w->file) && !ends(w->out, ".gii")))
    return rb_usage("apply", "--out %s: an image becomes .nii.gz, points .csv or .vtk, a mesh .gii", w->out);
  if (!is_image(w->file) && w->like) return rb_usage("apply", "--like is of images");
  return RB_EXIT_OK;
}

static void tell(const wishes *w, const rb_carried *r, int64_t n, const char *what) {
  if (r->outside)
    fprintf(stderr, "regbench apply: %lld of %lld %s lie outside\n", (long long)r->outside, (long long)n, what);
  if (r->lost)
    fprintf(stderr,
            "regbench apply: %lld of %lld %s have no inverse in %s: off by up to %.3g voxels (folded there?)\n",
            (long long)r->lost, (long long)n, what, w->field[0], r->worst);
}

static int whole_numbers(int64_t n, const float *v) {
  for (int64_t i = 0; i < n; i++)
    if (!(v[i] == floorf(v[i]) && fabsf(v[i]) <= 32767)) return 0;
  return 1;
}

static rb_status apply_image(const wishes *w, const rb_world_field *f, int *writing) {
  rb_status st = RB_OK;
  rb_volume image = {0}, other = {0};
  const rb_volume *like = &f[w->inverse ? w->fields - 1 : 0].lattice;
  float *out = NULL;
  rb_carried r;
  RB_TRY(rb_volume_read(w->file, &image));
  if (w->like) {
    RB_TRY(rb_volume_read(w->like, &other));
    like = &other;
  }
  const int64_t n = rb_grid_points(like->grid);
  out = malloc((size_t)n * sizeof *out);
  RB_CHECK(out, RB_ENOMEM, "host memory: %zu bytes for %s", (size_t)n * sizeof *out, w->out);
  RB_TRY(rb_carry_image(w->fields, f, w->inverse, &image, like, w->how, out, &r));
  RB_CHECK(r.outside < n, RB_EINVAL,
           "%s lies nowhere within %s: do its world coordinates belong to this registration?",
           w->like ? w->like : "the field's lattice", w->file);
  *writing = 1;
  if (w->how >= RB_CARRY_NEAREST && whole_numbers(n, out))
    RB_TRY(rb_volume_write_labels(w->out, like, like->grid, out));
  else
    RB_TRY(rb_volume_write(w->out, like, like->grid, out));
  tell(w, &r, n, "voxels");
done:
  free(out);
  rb_volume_free(&other), rb_volume_free(&image);
  return st;
}

/* x [3][n]; with --lps the first two coordinates have the other sign. */
static void carry(const wishes *w, const rb_world_field *f, int64_t n, double *x) {
  rb_carried r;
  for (int64_t i = 0; w->lps && i < 2 * n; i++) x[i] = -x[i];
  rb_carry_points(w->fields, f, w->inverse, n, x, &r);
  for (int64_t i = 0; w->lps && i < 2 * n; i++) x[i] = -x[i];
  tell(w, &r, n, "points");
}
static rb_status apply_points(const wishes *w, const rb_world_field *f, int *writing) {
  rb_status st = RB_OK;
  rb_points p = {0};
  RB_TRY(rb_points_read(w->file, &p));
  RB_CHECK(p.dim == 3, RB_EINVAL, "%s holds points of the plane; a displacement moves points of space", w->file);
  carry(w, f, p.n, p.x);
  *writing = 1;
  RB_TRY(rb_points_write(w->out, p.n, p.dim, p.x, ends(w->out, ".vtk") ? &p : NULL));
done:
  rb_points_free(&p);
  return st;
}
static rb_status apply_mesh(const wishes *w, const rb_world_field *f, int *writing) {
  rb_status st = RB_OK;
  rb_mesh m = {0};
  RB_TRY(rb_mesh_read(w->file, &m));
  carry(w, f, m.vertices, m.x);
  *writing = 1;
  RB_TRY(rb_mesh_write(w->out, &m));
done:
  rb_mesh_free(&m);
  return st;
}

int rb_cmd_apply(int argc, char **argv) {
  rb_status st = RB_OK;
  rb_world_field f[MOST_FIELDS];
  int read = 0, writing = 0;
  wishes w;
  if (rb_wants_help(argc, argv, apply_help)) return RB_EXIT_OK;
  const int code = parse(argc, argv, &w);
  if (code != RB_EXIT_OK) return code;
  while (read < w.fields && st == RB_OK) {
    st = rb_world_field_read(w.field[read], &f[read]);
    read += st == RB_OK;
  }
  if (st == RB_OK)
    st = is_image(w.file)    ? apply_image(&w, f, &writing)
         : is_points(w.file) ? apply_points(&w, f, &writing)
                             : apply_mesh(&w, f, &writing);
  for (int k = 0; k < read; k++) rb_world_field_free(&f[k]);
  if (st != RB_OK) fprintf(stderr, "regbench apply: %s\n", rb_message());
  return st == RB_OK ? RB_EXIT_OK : writing || st == RB_ENOMEM ? RB_EXIT_INCOMPLETE : RB_EXIT_USAGE;
}
