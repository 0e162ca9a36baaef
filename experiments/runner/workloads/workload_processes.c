/* SPDX-License-Identifier: BSD-3-Clause */
/* atlas-processes: `register atlas` on `processes` processes of one thread each, `inputs` images a process, as MPI's
 * launcher starts them (ha2009, section 4.5), files in, files out, in a temporary folder. On GPUs each process takes
 * the next one; more processes than GPUs share them. `reduce`: where the mean is added, see solvers/atlas.
 *
 * What is told are the iterations by the program's own clock, and what part of them the mean takes: adding up the own
 * images, the sum over the processes and the waiting for the slowest. Verified: the atlas that lies in the file is,
 * to the bit, that of one process without files. */
#include "experiments/runner/base/interrupt.h"
#include "datasets/temporary.h"
#include "experiments/runner/inputs/cohort.h"
#include "experiments/runner/workloads/atlas_twin.h"
#include "experiments/runner/workloads/solve_checks.h"
#include "experiments/runner/workloads/workload.h"
#include "kernels/base/device_info.h"
#include "solvers/external/child.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { IMAGES_MOST = 64, INHERITED_MOST = 128 };
extern char **environ;

typedef struct {
  const rb_case *c;
  int processes, inputs, iterations;
  rb_cohort cohort;
  const char *reduce;
  char folder[1024], program[PATH_MAX], file[IMAGES_MOST][1100];
} state;

static rb_status numbers_of(const rb_case *c, int *processes, int *inputs, int *iterations) {
  rb_status st = RB_OK;
  double p, i, k;
  RB_TRY(rb_case_number(c, "processes", 1, &p));
  RB_TRY(rb_case_number(c, "inputs", 1, &i));
  RB_TRY(rb_case_number(c, "iterations", 100, &k));
  RB_CHECK(p * i >= 2 && p * i <= IMAGES_MOST, RB_EUNSUPPORTED, "%g x %g images: an atlas has 2 to %d here", p, i,
           (int)IMAGES_MOST);
  *processes = (int)p, *inputs = (int)i, *iterations = (int)k;
done:
  return st;
}

static rb_atlas_options options_of(int iterations) {
  rb_atlas_options o = rb_atlas_defaults();
  o.iterations = iterations, o.interrupted = &rb_interrupted;
  return o;
}

/* Every process's own, the atlas that is compared with, files as they are compressed. */
static void predict(const rb_case *c, int rotations, size_t *backend, size_t *host) {
  int processes = 1, inputs = 2, iterations = 1;
  size_t own = 0, whole = 0, room = 0;
  const size_t volume = (size_t)rb_grid_points(c->grid) * sizeof(float);
  (void)rotations;
  if (numbers_of(c, &processes, &inputs, &iterations) != RB_OK) rb_clear();
  const rb_atlas_options o = options_of(iterations);
  if (rb_atlas_predict(c->variant, &o, c->grid, inputs, &own, &room) != RB_OK ||
      rb_atlas_predict(c->variant, &o, c->grid, processes * inputs, &whole, &room) != RB_OK)
    rb_clear();
  *backend = whole + (size_t)processes * own;
  *host = room + (size_t)processes * (room + (size_t)inputs * volume) + 12 * (size_t)(processes * inputs) * volume;
}
static size_t footprint(const rb_case *c) { return 20 * (size_t)rb_grid_points(c->grid) * sizeof(float); }

static void teardown(void *p) {
  state *s = p;
  if (!s) return;
  if (s->folder[0]) rb_temporary_remove(s->folder);
  rb_cohort_free(&s->cohort);
  free(s);
}

static rb_status has_launcher(void) {
  const char *path = getenv("PATH");
  for (const char *at = path ? path : ""; *at; at += strcspn(at, ":"), at += *at == ':') {
    char file[PATH_MAX];
    snprintf(file, sizeof file, "%.*s/mpirun", (int)strcspn(at, ":"), at);
    if (access(file, X_OK) == 0) return RB_OK;
  }
  return RB_FAIL(RB_ENOTFOUND, "mpirun is not on PATH: apt-get install openmpi-bin");
}

static rb_status setup(const rb_case *c, const rb_backend *b, int rotations, void **out) {
  rb_status st = RB_OK;
  rb_device_info device;
  state *s = calloc(1, sizeof *s);
  (void)rotations;
  RB_CHECK(s, RB_ENOMEM, "host memory");
  s->c = c;
  RB_TRY(numbers_of(c, &s->processes, &s->inputs, &s->iterations));
  RB_TRY(has_launcher());
  s->reduce = rb_case_axis(c, "reduce", "auto");
  if (strcmp(s->reduce, "devices") == 0) {
    RB_CHECK(b->kind == RB_CUDA, RB_EUNSUPPORTED, "no devices that could add the mean");
    RB_CHECK(!rb_device_info_read(&device) || device.devices >= s->processes, RB_EUNSUPPORTED,
             "%d processes, %d GPUs: NCCL wants one each", s->processes, device.devices);
  }
  const ssize_t length = readlink("/proc/self/exe", s->program, sizeof s->program - 1);
  RB_CHECK(length > 0, RB_EIO, "cannot tell where this program lies");
  RB_TRY(rb_cohort_known(rb_case_axis(c, "data", "phantom"), s->processes * s->inputs, RB_ANTIALIAS, c->grid,
                         &s->cohort));
  RB_TRY(rb_temporary_make(s->folder, sizeof s->folder));
  for (int k = 0; k < s->cohort.count; k++) {
    snprintf(s->file[k], sizeof s->file[k], "%s/image_%02d.nii", s->folder, k + 1);
    RB_TRY(rb_volume_write(s->file[k], NULL, c->grid, s->cohort.image[k]));
  }
  *out = s;
  s = NULL;
done:
  teardown(s);
  return st;
}

/* Names of variables that MPI has left in this process's environment, where PETSc has started it: a launcher started
 * from here would take itself for one of its own processes. */
static int inherited(char names[INHERITED_MOST][128]) {
  static const char *const prefixes[] = {"OMPI_", "ORTE_", "PMIX_", "PRTE_", "PMI_"};
  int count = 0;
  for (char **at = environ; *at && count < INHERITED_MOST; at++)
    for (size_t k = 0; k < sizeof prefixes / sizeof *prefixes; k++)
      if (strncmp(*at, prefixes[k], strlen(prefixes[k])) == 0 && count < INHERITED_MOST)
        snprintf(names[count++], 128, "%.*s", (int)strcspn(*at, "="), *at);
  return count;
}

static rb_status run(void *p, int turn) {
  state *s = p;
  char names[INHERITED_MOST][128];
  char processes[16], iterations[16], out[1100], *arguments[IMAGES_MOST + 2 * INHERITED_MOST + 32];
  int count = 0;
  (void)turn;
  snprintf(processes, sizeof processes, "%d", s->processes);
  snprintf(iterations, sizeof iterations, "%d", s->iterations);
  snprintf(out, sizeof out, "%s/out", s->folder);
  /* no agent for other machines is looked for: Open MPI gives up where there is no ssh */
  char *const launch[] = {"OMP_NUM_THREADS=1", "OMPI_MCA_btl_vader_single_copy_mechanism=none",
                          "OMPI_MCA_plm_rsh_agent=/bin/false"};
  char *const superuser[] = {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"};
  char *const verb[] = {"mpirun",
                        "--oversubscribe",
                        "-n",
                        processes,
                        s->program,
                        "register",
                        "atlas",
                        "--variant",
                        (char *)(size_t)s->c->variant->name,
                        "--iterations",
                        iterations,
                        "--reduce",
                        (char *)(size_t)s->reduce,
                        "--outputs",
                        "atlas",
                        "--out",
                        out,
                        "--images"};
  arguments[count++] = "env";
  for (int k = 0, variables = inherited(names); k < variables; k++) {
    arguments[count++] = "-u";
    arguments[count++] = names[k];
  }
  for (size_t k = 0; k < sizeof launch / sizeof *launch; k++) arguments[count++] = launch[k];
  for (size_t k = 0; geteuid() == 0 && k < sizeof superuser / sizeof *superuser; k++)
    arguments[count++] = superuser[k];
  for (size_t k = 0; k < sizeof verb / sizeof *verb; k++) arguments[count++] = verb[k];
  for (int k = 0; k < s->cohort.count; k++) arguments[count++] = s->file[k];
  arguments[count] = NULL;
  return rb_child_run(&(rb_child){.folder = s->folder, .interrupted = &rb_interrupted}, arguments);
}

/* Nothing of an earlier run may pass for this one's. */
static rb_status poison(void *p, int turn) {
  state *s = p;
  char out[1100];
  (void)turn;
  snprintf(out, sizeof out, "%s/out", s->folder);
  rb_temporary_remove(out);
  return access(out, F_OK) == 0 ? RB_FAIL(RB_EIO, "cannot remove %s", out) : RB_OK;
}

/* ---- what is verified ------------------------------------------------------------------------------------- */

/* Of the images as the files hold them. */
static rb_status verify_atlas(state *s, rb_outcome *o) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(s->c->grid);
  const rb_atlas_options options = options_of(s->iterations);
  const char *files[IMAGES_MOST];
  char path[1200];
  double apart = 0;
  rb_atlas *a = NULL;
  rb_atlas_result r;
  rb_volume atlas = {0};
  rb_cohort read = {0};
  float *mean = malloc((size_t)n * sizeof *mean);
  RB_CHECK(mean, RB_ENOMEM, "host memory");
  for (int k = 0; k < s->cohort.count; k++) files[k] = s->file[k];
  const rb_cohort_request request = {
      .files = files, .count = s->cohort.count, .how = RB_ANTIALIAS, .grid = s->c->grid};
  RB_TRY(rb_cohort_read(&request, rb_team_self(), &read));
  RB_TRY(rb_atlas_create(s->c->variant, &options, s->c->grid, read.count, (const float *const *)read.image, NULL,
                         rb_team_self(), &a));
  RB_TRY(rb_atlas_solve(a, NULL, NULL, &r));
  RB_TRY(rb_solve_check_uninterrupted(r.end));
  RB_TRY(rb_atlas_mean(a, mean));
  snprintf(path, sizeof path, "%s/out/atlas.nii.gz", s->folder);
  RB_TRY(rb_volume_read(path, &atlas));
  RB_CHECK(rb_grid_points(atlas.grid) == n, RB_EFORMAT, "%s has another grid", path);
  for (int64_t i = 0; i < n; i++) {
    const double d = fabs((double)(atlas.data[i] - mean[i]));
    if (!(d <= apart)) apart = d; /* a NaN stays */
  }
  rb_outcome_verify(o, "greatest difference of the atlas to one process's", apart, 0, "one process, no files");
done:
  rb_volume_free(&atlas);
  rb_cohort_free(&read);
  rb_atlas_destroy(a);
  free(mean);
  return st;
}

static rb_status verify(void *p, int turn, rb_outcome *o) {
  rb_status st = RB_OK;
  state *s = p;
  char path[1200];
  json_error_t error;
  json_t *metrics = NULL;
  (void)turn;
  snprintf(path, sizeof path, "%s/out/metrics.json", s->folder);
  metrics = json_load_file(path, 0, &error);
  RB_CHECK(metrics, RB_EFORMAT, "%s: %s", path, error.text);
  const json_t *seconds = json_object_get(metrics, "seconds"), *parts = json_object_get(seconds, "parts");
  const double solver = json_number_value(json_object_get(seconds, "solver")),
               average = json_number_value(json_object_get(parts, "average"));
  RB_TRY(verify_atlas(s, o));
  rb_outcome_metric(o, "images", s->cohort.count, "1", "of the atlas");
  rb_outcome_metric(o, "time_solver", solver, "s", "iterations, by rank 0's clock");
  rb_outcome_metric(o, "rate_images", s->cohort.count * (double)s->iterations / solver, "1/s",
                    "images moved by one iteration, a second");
  const json_t *on_devices = json_object_get(json_object_get(metrics, "results"), "mean_on_devices");
  if (on_devices)
    rb_outcome_metric(o, "mean_on_devices", json_number_value(on_devices), "1", "added by NCCL, not on hosts");
  if (strcmp(s->reduce, "devices") == 0 && s->processes > 1)
    RB_CHECK(json_number_value(on_devices) == 1, RB_EINVALID, "the mean was not added on devices, as asked");
  if (parts && json_object_size(parts))
    rb_outcome_metric(o, "share_average", 100 * average / solver, "%",
                      "of the iterations: the mean, its sum over processes and the waiting, on rank 0; added on "
                      "GPUs, the last image's warp, too");
done:
  json_decref(metrics);
  return st;
}

static const rb_workload_axis axes[] = {{"size", RB_VALUES_SIZE},
                                        {"processes", RB_VALUES_COUNT},
                                        {"inputs", RB_VALUES_COUNT},
                                        {"iterations", RB_VALUES_COUNT},
                                        {"data", "phantom nirep"},
                                        {"reduce", "auto hosts devices"},
                                        {NULL, NULL}};
const rb_workload rb_workload_atlas_processes = {
    "atlas-processes", &rb_atlas_family, predict, footprint, setup, run, poison, verify, teardown, axes, NULL};
