/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/machine/nvml.h"

#include "kernels/base/device_info.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The few entry points used, declared here so that no NVML header is needed to build. */
typedef void *device_t;
typedef struct {
  unsigned gpu, memory;
} utilization_t;
typedef struct {
  unsigned pid;
  unsigned long long used;
  unsigned gpu_instance, compute_instance;
} process_t;

static struct {
  int tried, ready;
  device_t device;
  int (*init)(void);
  int (*handle)(unsigned, device_t *);
  int (*by_bus)(const char *, device_t *);
  int (*name)(device_t, char *, unsigned);
  int (*driver)(char *, unsigned);
  int (*clock)(device_t, int, unsigned *);
  int (*most_clock)(device_t, int, unsigned *);
  int (*power)(device_t, unsigned *);
  int (*limit)(device_t, unsigned *);
  int (*temperature)(device_t, int, unsigned *);
  int (*utilization)(device_t, utilization_t *);
  int (*ecc)(device_t, int *, int *);
  int (*processes)(device_t, unsigned *, process_t *);
  int (*energy)(device_t, unsigned long long *);
  int (*reasons)(device_t, unsigned long long *), (*reasons_before_535)(device_t, unsigned long long *);
} nvml;

/* CUDA numbers the GPUs that it may see, NVML all of them: the bus address is the same to both. */
static int find_device(void) {
  char bus[32];
  if (nvml.by_bus && rb_device_bus(bus, sizeof bus) == RB_OK && nvml.by_bus(bus, &nvml.device) == 0) return 0;
  rb_clear();
  return nvml.handle(0, &nvml.device);
}

static int open_library(void) {
  if (nvml.tried) return nvml.ready;
  nvml.tried = 1;
  void *lib = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  if (!lib) return 0;
  const struct {
    void *slot;
    const char *symbol;
  } table[] = {{&nvml.init, "nvmlInit_v2"},
               {&nvml.handle, "nvmlDeviceGetHandleByIndex_v2"},
               {&nvml.by_bus, "nvmlDeviceGetHandleByPciBusId_v2"},
               {&nvml.name, "nvmlDeviceGetName"},
               {&nvml.driver, "nvmlSystemGetDriverVersion"},
               {&nvml.clock, "nvmlDeviceGetClockInfo"},
               {&nvml.most_clock, "nvmlDeviceGetMaxClockInfo"},
               {&nvml.power, "nvmlDeviceGetPowerUsage"},
               {&nvml.limit, "nvmlDeviceGetEnforcedPowerLimit"},
               {&nvml.temperature, "nvmlDeviceGetTemperature"},
               {&nvml.utilization, "nvmlDeviceGetUtilizationRates"},
               {&nvml.ecc, "nvmlDeviceGetEccMode"},
               {&nvml.processes, "nvmlDeviceGetComputeRunningProcesses_v3"},
               {&nvml.energy, "nvmlDeviceGetTotalEnergyConsumption"},
               {&nvml.reasons, "nvmlDeviceGetCurrentClocksEventReasons"},
               {&nvml.reasons_before_535, "nvmlDeviceGetCurrentClocksThrottleReasons"}};
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    void *p = dlsym(lib, table[i].symbol);
    memcpy(table[i].slot, &p, sizeof p);
  }
  nvml.ready = nvml.init && nvml.handle && nvml.init() == 0 && find_device() == 0;
  return nvml.ready;
}

double rb_nvml_energy(void) {
  unsigned long long mj;
  return open_library() && nvml.energy && nvml.energy(nvml.device, &mj) == 0 ? 1e-3 * (double)mj : NAN;
}

/* NVML's bits. Those of idle clocks, of clocks that somebody set and of boards in step are left out. */
static const struct {
  unsigned char bit;
  const char *name;
} throttles[] = {{0x04, "power cap"},
                 {0x08, "hardware slowdown"},
                 {0x20, "heat, by the driver"},
                 {0x40, "heat, by the hardware"},
                 {0x80, "power brake"}};
enum { THROTTLES = sizeof throttles / sizeof *throttles };

unsigned char rb_nvml_throttle(void) {
  unsigned long long reasons = 0;
  unsigned char all = 0;
  if (!open_library()) return 0;
  if (!(nvml.reasons && nvml.reasons(nvml.device, &reasons) == 0) &&
      !(nvml.reasons_before_535 && nvml.reasons_before_535(nvml.device, &reasons) == 0))
    return 0;
  for (int i = 0; i < THROTTLES; i++) all |= throttles[i].bit;
  return (unsigned char)(reasons & all);
}

const char *rb_nvml_throttle_name(int i, unsigned char *bit) {
  *bit = i < THROTTLES ? throttles[i].bit : 0;
  return i < THROTTLES ? throttles[i].name : NULL;
}

static double clock_of(int (*read)(device_t, int, unsigned *), int which) {
  unsigned mhz;
  return read && read(nvml.device, which, &mhz) == 0 ? mhz : NAN;
}
static double watt(int (*read)(device_t, unsigned *)) {
  unsigned mw;
  return read && read(nvml.device, &mw) == 0 ? 1e-3 * mw : NAN;
}

int rb_nvml_read(rb_nvml_state *s) {
  enum { SM = 1, MEMORY = 2 };
  unsigned value, count = 64;
  utilization_t busy;
  int current, pending;
  process_t list[64];
  memset(s, 0, sizeof *s);
  if (!open_library()) return 0;
  if (!nvml.name || nvml.name(nvml.device, s->name, sizeof s->name) != 0) s->name[0] = '\0';
  if (!nvml.driver || nvml.driver(s->driver, sizeof s->driver) != 0) s->driver[0] = '\0';
  s->sm_clock = clock_of(nvml.clock, SM), s->memory_clock = clock_of(nvml.clock, MEMORY);
  s->most_sm_clock = clock_of(nvml.most_clock, SM), s->most_memory_clock = clock_of(nvml.most_clock, MEMORY);
  s->power = watt(nvml.power), s->power_limit = watt(nvml.limit);
  s->temperature = nvml.temperature && nvml.temperature(nvml.device, 0, &value) == 0 ? value : NAN;
  s->utilization = nvml.utilization && nvml.utilization(nvml.device, &busy) == 0 ? busy.gpu : NAN;
  s->ecc = nvml.ecc && nvml.ecc(nvml.device, &current, &pending) == 0 ? current : NAN;
  s->other_processes = NAN;
  if (nvml.processes && nvml.processes(nvml.device, &count, list) == 0) {
    s->other_processes = 0;
    for (unsigned i = 0; i < count; i++) s->other_processes += list[i].pid != (unsigned)getpid();
  }
  return 1;
}
