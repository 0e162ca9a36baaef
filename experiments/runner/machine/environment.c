/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/machine/environment.h"

#include "experiments/runner/machine/build_info.h"
#include "experiments/runner/machine/nvml.h"
#include "experiments/runner/machine/subnormals.h"
#include "kernels/base/backend.h"
#include "kernels/registry/registry.h"
#include "kernels/base/device_info.h"
#include "kernels/base/team.h"

#include <ctype.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

json_t *rb_json_number(double v) { return isfinite(v) ? json_real(v) : json_null(); }

static void cpu_model(char *out, size_t size) {
  char line[512];
  FILE *f = fopen("/proc/cpuinfo", "r");
  snprintf(out, size, "unknown processor");
  while (f && fgets(line, sizeof line, f)) {
    char *colon = strchr(line, ':');
    if (strncmp(line, "model name", 10) == 0 && colon) {
      colon[strcspn(colon, "\n")] = '\0';
      snprintf(out, size, "%.*s", (int)size - 1, colon + 2);
      break;
    }
  }
  if (f) fclose(f);
}

void rb_machine_name(char *out, int size) {
  rb_device_info gpu;
  if (!rb_cuda_is_emulated() && rb_device_info_read(&gpu)) {
    snprintf(out, (size_t)size, "%s", gpu.name);
    return;
  }
  char cpu[256];
  cpu_model(cpu, sizeof cpu);
  snprintf(out, (size_t)size, "%.180s, %ld cores", cpu, sysconf(_SC_NPROCESSORS_ONLN));
}

void rb_slug(const char *name, char *out, int size) {
  int n = 0;
  for (const char *s = name; *s && n < size - 1; s++) {
    if (strncmp(s, "(R)", 3) == 0 || strncmp(s, "(TM)", 4) == 0) {
      s += s[1] == 'R' ? 2 : 3;
      continue;
    }
    if (isalnum((unsigned char)*s))
      out[n++] = (char)tolower((unsigned char)*s);
    else if (n > 0 && out[n - 1] != '-')
      out[n++] = '-';
  }
  while (n > 0 && out[n - 1] == '-') n--;
  out[n] = '\0';
}

void rb_machine_slug(char *out, int size) {
  char name[300];
  rb_device_info gpu;
  rb_machine_name(name, sizeof name);
  rb_slug(name, out, size);
  if (!rb_cuda_is_emulated() && rb_device_info_read(&gpu) && gpu.devices > 1) {
    const int n = (int)strlen(out);
    snprintf(out + n, (size_t)(size - n), "-x%d", gpu.devices);
  }
}

static json_t *gpu_facts(void) {
  rb_device_info d;
  rb_nvml_state s;
  if (rb_cuda_is_emulated() || !rb_device_info_read(&d)) return json_null();
  int nvml = rb_nvml_read(&s);
  char capability[16];
  snprintf(capability, sizeof capability, "%d.%d", d.capability_major, d.capability_minor);
  return json_pack("{s:s,s:s,s:i,s:I,s:I,s:i,s:i,s:o,s:o,s:o,s:o,s:o}", "name", d.name, "capability", capability,
                   "multiprocessors", d.multiprocessors, "memory_bytes", (json_int_t)d.memory, "l2_bytes",
                   (json_int_t)d.l2, "cuda_runtime", d.runtime_version, "cuda_driver", d.driver_version, "driver",
                   nvml && s.driver[0] ? json_string(s.driver) : json_null(), "ecc",
                   nvml && s.ecc == s.ecc ? json_boolean(s.ecc > 0) : json_null(), "power_limit_watt",
                   rb_json_number(nvml ? s.power_limit : NAN), "most_sm_mhz",
                   rb_json_number(nvml ? s.most_sm_clock : NAN), "most_memory_mhz",
                   rb_json_number(nvml ? s.most_memory_clock : NAN));
}

/* All devices that CUDA sees; the one that this process drives is told at length by `gpu`. */
static json_t *gpus(void) {
  json_t *all = json_array();
  rb_device_info d;
  for (int i = 0; !rb_cuda_is_emulated() && rb_device_info_of(i, &d); i++)
    json_array_append_new(all, json_pack("{s:s,s:I}", "name", d.name, "memory_bytes", (json_int_t)d.memory));
  return all;
}

json_t *rb_environment(void) {
  char cpu[256], slug[320], name[320];
  struct utsname os;
  const rb_backend *host;
  size_t total = 0, available = 0;
  cpu_model(cpu, sizeof cpu);
  rb_machine_slug(slug, sizeof slug);
  rb_machine_name(name, sizeof name);
  uname(&os);
  if (rb_backend_get(RB_CPU, &host) == RB_OK) host->memory(&total, &available);
  return json_pack("{s:s,s:s,s:{s:s,s:I,s:i,s:I,s:I,s:b},s:{s:s,s:s,s:s},s:{s:s,s:s,s:s,s:s,s:s},s:o,s:o,s:i}",
                   "name", name, "slug", slug, "cpu", "model", cpu, "cores",
                   (json_int_t)sysconf(_SC_NPROCESSORS_ONLN), "threads", omp_get_max_threads(), "memory_bytes",
                   (json_int_t)total, "l3_bytes", (json_int_t)sysconf(_SC_LEVEL3_CACHE_SIZE), "subnormals_flushed",
                   rb_subnormals_are_flushed(), "os", "kernel", os.sysname, "release", os.release, "architecture",
                   os.machine, "build", "compiler", RB_BUILD_COMPILER, "flags", RB_BUILD_FLAGS, "cuda_compiler",
                   RB_BUILD_CUDA_COMPILER, "cuda_flags", RB_BUILD_CUDA_FLAGS, "libraries", RB_BUILD_LIBRARIES, "gpu",
                   gpu_facts(), "gpus", gpus(), "ranks", rb_team_processes());
}

json_t *rb_environment_of_times(const json_t *environment) {
  const json_t *cpu = json_object_get(environment, "cpu"), *gpu = json_object_get(environment, "gpu");
  return json_pack("{s:O?,s:O?,s:O?,s:O?,s:O?}", "cpu", json_object_get(cpu, "model"), "threads",
                   json_object_get(cpu, "threads"), "build", json_object_get(environment, "build"), "gpu",
                   json_object_get(gpu, "name"), "driver", json_object_get(gpu, "driver"));
}
