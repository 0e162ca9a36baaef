/* SPDX-License-Identifier: BSD-3-Clause */
/* template: a mean image of a cohort by our atlas and by programs of others, each started as a program on the same
 * files (intensities of the whole cohort in [0, 1]), each judged by the image that it wrote.
 *
 * Timed: the program from start to end, its files included; cpu_seconds is what all of its threads took together.
 * Verified: the image is finite, of the grid, in the range of the images, and like their arithmetic mean. How sharp
 * it is, its entropy and gradient, are results (ha2009, Figure 7), and so is how much the images that the program
 * registered last still differ; lower entropy is no proof of a better mean. */
#include "datasets/temporary.h"
#include "experiments/runner/base/files.h"
#include "experiments/runner/base/interrupt.h"
#include "experiments/runner/inputs/cohort.h"
#include "experiments/runner/workloads/image_statistics.h"
#include "experiments/runner/workloads/register_child.h"
#include "experiments/runner/workloads/workload.h"
#include "solvers/external/adapter.h"
#include "solvers/external/child.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* A variant of register atlas, or an adapter. */
typedef struct {
  const char *variant, *adapter;
} maker;
static const maker atlas_cpu = {"cpu-fft", NULL}, atlas_gpu = {"gpu-fft-replay", NULL},
                   ants = {NULL, "ants-template"};
static const rb_variant variants[] = {
    {"atlas-cpu", "", "register atlas by FFTW, all cores", RB_ON_CPU(&atlas_cpu)},
    {"atlas-gpu", "", "register atlas by cuFFT, an iteration as one launch", RB_ON_CUDA(&atlas_gpu)},
    {"ants-template", "", "ANTs' template builder, SyN, no sharpening, all cores", RB_ON_CPU(&ants)},
};
const rb_family rb_template_family = {
    .name = "template",
    .what = "mean images by our atlas and by programs of others, judged by the image that they wrote",
    .variants = variants,
    .count = sizeof variants / sizeof *variants,
};

enum { IMAGES_MOST = 16 };
typedef struct {
  const rb_case *c;
  rb_cohort cohort; /* scaled to [0, 1] */
  rb_adapter *adapter;
  char folder[1024], program[PATH_MAX], version[256];
  double cpu; /* seconds, of the last run */
} state;

static rb_status images_of(const rb_case *c, int *out) {
  rb_status st = RB_OK;
  double images;
  RB_TRY(rb_case_number(c, "images", 4, &images));
  RB_CHECK(images >= 2 && images <= IMAGES_MOST, RB_EINVAL, "%g images; 2 to %d work", images, IMAGES_MOST);
  *out = (int)images;
done:
  return st;
}

/* Of a child: some forty fields of an image, and the images. */
static void predict(const rb_case *c, int rotations, size_t *backend, size_t *host) {
  (void)rotations;
  *backend = 40 * (size_t)rb_grid_points(c->grid) * sizeof(float);
  *host = *backend + IMAGES_MOST * (size_t)rb_grid_points(c->grid) * sizeof(float);
}
static size_t footprint(const rb_case *c) { return (size_t)rb_grid_points(c->grid) * sizeof(float); }

static void teardown(void *p) {
  state *s = p;
  if (!s) return;
  if (s->folder[0]) rb_temporary_remove(s->folder);
  rb_adapter_free(s->adapter);
  rb_cohort_free(&s->cohort);
  free(s);
}

static rb_status write_files(const state *s) {
  rb_status st = RB_OK;
  static const rb_affine lps = {{{-1, 0, 0, 0}, {0, -1, 0, 0}, {0, 0, 1, 0}}, 1};
  const rb_volume here = {.grid = s->c->grid};
  rb_volume like = {0};
  char path[1200], list[IMAGES_MOST * 32] = "";
  RB_TRY(rb_volume_with_affine(&here, &lps, &like));
  for (int k = 0; k < s->cohort.count; k++) {
    const size_t used = strlen(list);
    RB_TRY(rb_path(path, sizeof path, "%s/image_%d.nii.gz", s->folder, k + 1));
    RB_TRY(rb_volume_write(path, &like, s->c->grid, s->cohort.image[k]));
    snprintf(list + used, sizeof list - used, "image_%d.nii.gz\n", k + 1);
  }
  RB_TRY(rb_path(path, sizeof path, "%s/images.txt", s->folder));
  RB_TRY(rb_write_atomically(path, list, strlen(list)));
done:
  rb_volume_free(&like);
  return st;
}

static rb_status setup(const rb_case *c, const rb_backend *b, int rotations, void **out) {
  rb_status st = RB_OK;
  const maker *who = c->variant->ops;
  char version[128];
  int images = 0;
  state *s = calloc(1, sizeof *s);
  (void)b, (void)rotations;
  RB_CHECK(s, RB_ENOMEM, "host memory");
  s->c = c;
  RB_TRY(images_of(c, &images));
  if (who->adapter) { /* absent, it is a skip */
    RB_TRY(rb_adapter_load(who->adapter, &s->adapter));
    RB_TRY(rb_adapter_version(s->adapter, version, sizeof version));
    snprintf(s->version, sizeof s->version, "%.127s; adapter %.12s", version, s->adapter->sha256);
  }
  const ssize_t length = readlink("/proc/self/exe", s->program, sizeof s->program - 1);
  RB_CHECK(length > 0, RB_EIO, "cannot tell where this program lies");
  RB_TRY(rb_cohort_known(rb_case_axis(c, "data", "phantom"), images, RB_ANTIALIAS, c->grid, &s->cohort));
  rb_cohort_scale(&s->cohort);
  RB_TRY(rb_temporary_make(s->folder, sizeof s->folder));
  RB_TRY(write_files(s));
  *out = s;
  s = NULL;
done:
  teardown(s);
  return st;
}

static double cpu_of_children(void) {
  struct rusage u;
  getrusage(RUSAGE_CHILDREN, &u);
  return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* Three levels of 50, 50 and 25 iterations, as the facts of a prototype's comparison have it; ANTs at its adapter's.
 */
static rb_status run(void *p, int turn) {
  rb_status st = RB_OK;
  state *s = p;
  const maker *who = s->c->variant->ops;
  char *command = NULL;
  (void)turn;
  const rb_child how = {
      .folder = s->folder, .inside = 1, .name = s->c->variant->name, .interrupted = &rb_interrupted};
  const double before = cpu_of_children();
  if (who->adapter) {
    RB_TRY(rb_adapter_command(s->adapter, "images.txt", NULL, "template.nii.gz", omp_get_max_threads(), &command));
    char *const arguments[] = {"sh", "-c", command, NULL};
    RB_TRY(rb_child_run(&how, arguments));
  } else {
    const char *arguments[] = {
        s->program, "register",  "atlas",        "--list", "images.txt",   "--variant", who->variant,
        "--scale",  "none",      "--levels",     "3",      "--iterations", "25",        "--coarse-iterations",
        "50",       "--outputs", "atlas,warped", "--out",  "out",          NULL};
    RB_TRY(rb_child_run(&how, (char *const *)(uintptr_t)arguments));
  }
  s->cpu = cpu_of_children() - before;
done:
  free(command);
  return st;
}

static rb_status path_of(const state *s, char *path, size_t size) {
  return rb_path(path, size, "%s/%s", s->folder, s->adapter ? "template.nii.gz" : "out/atlas.nii.gz");
}
/* Image k as the program registered it last. */
static rb_status path_of_warped(const state *s, int k, char *path, size_t size) {
  return s->adapter ? rb_path(path, size, "%s/warped_%d.nii.gz", s->folder, k + 1)
                    : rb_path(path, size, "%s/out/warped_%03d_image_%d.nii.gz", s->folder, k + 1, k + 1);
}
static rb_status poison(void *p, int turn) {
  rb_status st = RB_OK;
  state *s = p;
  char path[1200];
  (void)turn;
  for (int k = -1; k < s->cohort.count; k++) {
    RB_TRY(k < 0 ? path_of(s, path, sizeof path) : path_of_warped(s, k, path, sizeof path));
    unlink(path);
    RB_CHECK(access(path, F_OK) != 0, RB_EIO, "cannot remove %s", path);
  }
done:
  return st;
}

static double correlation(int64_t n, const float *a, const float *b) {
  double ma = 0, mb = 0, ab = 0, aa = 0, bb = 0;
  for (int64_t i = 0; i < n; i++) ma += (double)a[i], mb += (double)b[i];
  ma /= (double)n, mb /= (double)n;
  for (int64_t i = 0; i < n; i++) {
    const double x = (double)a[i] - ma, y = (double)b[i] - mb;
    ab += x * y, aa += x * x, bb += y * y;
  }
  return ab / sqrt(aa * bb);
}

/* Mean over voxels of the variance over `count` images. */
static double mean_variance(int64_t n, int count, float *const *image) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) {
    double mean = 0, square = 0;
    for (int k = 0; k < count; k++) mean += (double)image[k][i] / count;
    for (int k = 0; k < count; k++) square += ((double)image[k][i] - mean) * ((double)image[k][i] - mean);
    sum += square / count;
  }
  return sum / (double)n;
}
static rb_status add_variance(const state *s, rb_outcome *o) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(s->c->grid);
  const int count = s->cohort.count;
  rb_volume v[IMAGES_MOST];
  float *warped[IMAGES_MOST] = {NULL};
  char path[1200];
  memset(v, 0, sizeof v);
  for (int k = 0; k < count; k++) {
    RB_TRY(path_of_warped(s, k, path, sizeof path));
    RB_TRY(rb_volume_read(path, &v[k]));
    RB_CHECK(memcmp(&v[k].grid, &s->c->grid, sizeof v[k].grid) == 0, RB_EINVALID, "%s is of another grid", path);
    warped[k] = v[k].data;
    rb_outcome_verify(o, "1 - correlation of a registered image with itself before",
                      1 - correlation(n, warped[k], s->cohort.image[k]), 0.2, "an image moved a little");
  }
  rb_outcome_metric(o, "variance", mean_variance(n, count, warped), "1",
                    "over the registered images, mean of voxels");
  rb_outcome_metric(o, "variance_arithmetic", mean_variance(n, count, s->cohort.image), "1",
                    "over the images before, mean of voxels");
done:
  for (int k = 0; k < count; k++) rb_volume_free(&v[k]);
  return st;
}

/* Of the mean image (own 1), or of the arithmetic one. */
static void add_sharpness(rb_grid g, const float *f, const float *mask, int own, rb_outcome *o) {
  const int64_t n = rb_grid_points(g);
  rb_outcome_metric(o, own ? "entropy" : "entropy_arithmetic", rb_image_entropy(n, f, NULL, 0), "bit",
                    "of 256 bins on [0, 1], all voxels");
  rb_outcome_metric(o, own ? "entropy_head" : "entropy_head_arithmetic", rb_image_entropy(n, f, mask, 0.02), "bit",
                    "where the arithmetic mean is above 0.02");
  rb_outcome_metric(o, own ? "rms_gradient" : "rms_gradient_arithmetic", rb_image_rms_gradient(g, f), "1",
                    "sqrt(mean |grad|^2), by voxel");
}

static rb_status verify(void *p, int turn, rb_outcome *o) {
  rb_status st = RB_OK;
  state *s = p;
  const int64_t n = rb_grid_points(s->c->grid);
  char path[1200];
  rb_volume v = {0};
  float *mean = calloc((size_t)n, sizeof *mean);
  (void)turn;
  RB_CHECK(mean, RB_ENOMEM, "host memory");
  rb_outcome_data(o, s->cohort.name[0], s->cohort.sha256[0]);
  RB_TRY(path_of(s, path, sizeof path));
  RB_TRY(rb_volume_read(path, &v));
  RB_CHECK(memcmp(&v.grid, &s->c->grid, sizeof v.grid) == 0, RB_EINVALID, "the template is of another grid");
  for (int k = 0; k < s->cohort.count; k++)
    for (int64_t i = 0; i < n; i++) mean[i] += s->cohort.image[k][i] / (float)s->cohort.count;
  double beyond = 0;
  for (int64_t i = 0; i < n; i++) {
    const double x = (double)v.data[i], off = fmax(-x, x - 1);
    if (!(off <= beyond)) beyond = off; /* a NaN stays */
    v.data[i] = fminf(fmaxf(v.data[i], 0), 1);
  }
  rb_outcome_verify(o, "how far values lie beyond [0, 1]", beyond, 1e-3, "the images");
  rb_outcome_verify(o, "1 - correlation with the arithmetic mean", 1 - correlation(n, v.data, mean), 0.2,
                    "a mean of them");
  add_sharpness(s->c->grid, v.data, mean, 1, o);
  add_sharpness(s->c->grid, mean, mean, 0, o);
  RB_TRY(add_variance(s, o));
  rb_outcome_metric(o, "cpu_seconds", s->cpu, "s", "of all threads of the program, user and system");
  if (s->version[0]) o->details = json_pack("{s:s}", "program", s->version);
done:
  rb_volume_free(&v);
  free(mean);
  return st;
}

static const rb_workload_axis axes[] = {
    {"size", RB_VALUES_SIZE}, {"data", "phantom nirep"}, {"images", RB_VALUES_COUNT}, {NULL, NULL}};
const rb_workload rb_workload_template = {
    "template", &rb_template_family, predict, footprint, setup, run, poison, verify, teardown, axes, NULL};
