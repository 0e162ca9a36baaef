/* SPDX-License-Identifier: BSD-3-Clause */
/* doctor: what this machine has and lacks. */
#include "datasets/manifest.h"
#include "experiments/runner/machine/build_info.h"
#include "experiments/runner/cli/commands.h"
#include "experiments/runner/cli/exit_codes.h"
#include "experiments/runner/machine/nvml.h"
#include "kernels/base/backend.h"
#include "kernels/base/device_info.h"
#include "solvers/external/external.h"

#include <fftw3.h>
#include <jansson.h>
#include <omp.h>
#include <stdarg.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

static const char doctor_help[] =
    "usage: regbench doctor\n\nWhat this machine has: compiler, libraries, GPU, driver, clocks, memory, disk, data; "
    "what is missing, and how to get it.\n\n"
    "exit codes: 0 nothing is broken (a missing GPU is not broken), 8 something must be repaired before a run can be "
    "trusted\n";

static int problems;
static void good(const char *what, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void note(const char *what, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void bad(const char *what, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define LINE(mark, extra)            \
  va_list args;                      \
  va_start(args, format);            \
  printf("%-5s %-14s ", mark, what); \
  vprintf(format, args);             \
  putchar('\n');                     \
  va_end(args);                      \
  extra;
static void good(const char *what, const char *format, ...) { LINE("ok", ) }
static void note(const char *what, const char *format, ...) { LINE("note", ) }
static void bad(const char *what, const char *format, ...) { LINE("BAD", problems++) }

/* Programs of others, each by its adapter. */
static void doctor_programs(void) {
  const rb_external_options none = {"", ""};
  for (int k = 0; k < rb_external_family.count; k++) {
    const rb_variant *v = &rb_external_family.variants[k];
    rb_adapter *a = NULL;
    char version[64];
    if (!*((const rb_external_program *)v->ops)->adapter) continue; /* whichever the user names */
    if (rb_external_adapter(v, &none, &a) == RB_OK && rb_adapter_version(a, version, sizeof version) == RB_OK)
      good(v->name, "%s", version);
    else
      note(v->name, "%s; only contests with it need it", rb_message());
    rb_clear();
    rb_adapter_free(a);
  }
}

static void doctor_host(void) {
  const rb_backend *host;
  size_t total, available;
  struct statvfs disk;
  double load[1];
  good("regbench", "%s; %s; flags %s", RB_VERSION, RB_BUILD_COMPILER, RB_BUILD_FLAGS);
  good("libraries", "%s; FFTW %s; jansson %s", RB_BUILD_LIBRARIES, fftw_version, JANSSON_VERSION);
  if (rb_backend_get(RB_CPU, &host) == RB_OK && host->memory(&total, &available) == RB_OK) {
    (available > (size_t)4 << 30 ? good : note)(
        "memory", "%.1f of %.1f GB free%s", 1e-9 * (double)available, 1e-9 * (double)total,
        available > (size_t)4 << 30 ? "" : "; preset paper wants 4 GB and more: free some, or keep to preset quick");
  }
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  (omp_get_max_threads() == cores ? good : note)(
      "threads", "%d OpenMP threads on %ld cores%s", omp_get_max_threads(), cores,
      omp_get_max_threads() == cores ? "" : "; unset OMP_NUM_THREADS to use all");
  if (getloadavg(load, 1) == 1)
    (load[0] < 0.5 * (double)cores ? good : note)(
        "load", "%.2f%s", load[0],
        load[0] < 0.5 * (double)cores ? "" : "; other work disturbs CPU times: end it, or wait");
  if (statvfs(".", &disk) == 0) {
    double gb = 1e-9 * (double)disk.f_bavail * (double)disk.f_frsize;
    if (gb > 1)
      good("disk", "%.1f GB free here", gb);
    else
      bad("disk", "%.2f GB free here; records need little, plots and images more: free some", gb);
  }
  if (access("/usr/bin/gnuplot", X_OK) == 0)
    good("gnuplot", "found");
  else
    note("gnuplot", "absent: 'report --plots' needs it (apt-get install gnuplot-nox)");
  doctor_programs();
}

static void doctor_gpu(void) {
  const rb_backend *cuda;
  rb_device_info d;
  rb_nvml_state s;
  int nvml = rb_nvml_read(&s);
  if (strcmp(RB_BUILD_CUDA_COMPILER, "none") == 0)
    note("CUDA build", "none: install the CUDA toolkit, so that nvcc is on PATH, and build again");
  else
    good("CUDA build", "%s; %s", RB_BUILD_CUDA_COMPILER, RB_BUILD_CUDA_FLAGS);
  if (rb_backend_get(RB_CUDA, &cuda) != RB_OK) {
    note("GPU", "%s", rb_message());
    rb_clear();
    return;
  }
  rb_device_info_read(&d);
  if (cuda->emulated) {
    note("GPU",
         "emulated: kernels are executed on the CPU, as an %s with %d multiprocessors would; 'check' runs them, "
         "nothing is timed",
         d.name + strlen("emulated "), d.multiprocessors);
    return;
  }
  good("GPU", "%s, capability %d.%d, %d multiprocessors, %.1f GB, L2 %.1f MB", d.name, d.capability_major,
       d.capability_minor, d.multiprocessors, 1e-9 * (double)d.memory, 1e-6 * (double)d.l2);
  (d.driver_version >= d.runtime_version ? good : note)(
      "driver", "supports CUDA %d.%d, built with %d.%d%s%s%s", d.driver_version / 1000, d.driver_version % 1000 / 10,
      d.runtime_version / 1000, d.runtime_version % 1000 / 10, nvml ? "; version " : "", nvml ? s.driver : "",
      d.driver_version >= d.runtime_version ? "" : "; update the driver, or build with its toolkit");
  if (!nvml) {
    note("NVML",
         "libnvidia-ml.so.1 does not answer: no clocks, no energy in records; it comes with the driver (Debian: "
         "libnvidia-ml1)");
    return;
  }
  (s.ecc == 0 ? note : good)("ECC", "%s",
                             s.ecc == 1   ? "on"
                             : s.ecc == 0 ? "off; say so when publishing, or 'nvidia-smi -e 1' and restart"
                                          : "not readable");
  if (s.other_processes > 0 || s.utilization > 5)
    bad("busy GPU", "%.0f other processes, %.0f %% busy: end them, times are not to be trusted", s.other_processes,
        s.utilization);
  else if (isnan(s.other_processes) || isnan(s.utilization))
    note("busy GPU", "this driver does not tell whether others use the GPU");
  else
    good("busy GPU", "no other compute process, %.0f %% busy", s.utilization);
  good("clocks", "SM %.0f of %.0f MHz, memory %.0f of %.0f MHz, %.0f W of %.0f, %.0f C", s.sm_clock, s.most_sm_clock,
       s.memory_clock, s.most_memory_clock, s.power, s.power_limit, s.temperature);
}

int rb_cmd_doctor(int argc, char **argv) {
  char names[64][64], root[4096];
  if (rb_wants_help(argc, argv, doctor_help)) return RB_EXIT_OK;
  if (argc) return rb_usage("doctor", "unexpected '%s'", argv[0]);
  doctor_host();
  doctor_gpu();
  if (rb_data_root(root, sizeof root) == RB_OK) good("data folder", "%s", root);
  int n = rb_manifest_names(names, 64);
  for (int i = 0; i < n; i++) {
    rb_manifest *m;
    if (rb_manifest_load(names[i], &m) != RB_OK) {
      bad("data", "%s", rb_message());
      rb_clear();
      continue;
    }
    if (rb_manifest_present(m))
      good("data", "%s", names[i]);
    else if (m->package)
      note("data", "%s is absent: apt-get install %s", names[i], m->package);
    else
      note("data", "%s is absent: regbench data import %s FOLDER", names[i], names[i]);
    rb_manifest_free(m);
  }
  return problems ? RB_EXIT_INCOMPLETE : RB_EXIT_OK;
}
