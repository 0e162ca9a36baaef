/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "experiments/runner/machine/load.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* /proc/stat, "cpuN user nice system idle iowait irq softirq steal ...", in ticks. What a hypervisor gave to other
 * machines (steal) is busy, too. */
static double busy_seconds(void) {
  double sum = NAN;
  cpu_set_t mine;
  char line[512];
  FILE *f = fopen("/proc/stat", "r");
  if (!f || sched_getaffinity(0, sizeof mine, &mine) != 0) goto done;
  while (fgets(line, sizeof line, f)) {
    int cpu;
    double t[8];
    if (sscanf(line, "cpu%d %lf %lf %lf %lf %lf %lf %lf %lf", &cpu, &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6],
               &t[7]) != 9 ||
        cpu < 0 || cpu >= CPU_SETSIZE || !CPU_ISSET(cpu, &mine))
      continue;
    const double ticks = t[0] + t[1] + t[2] + t[5] + t[6] + t[7];
    sum = (sum == sum ? sum : 0) + ticks / (double)sysconf(_SC_CLK_TCK);
  }
done:
  if (f) fclose(f);
  return sum;
}

static double seconds(struct timeval t) { return (double)t.tv_sec + 1e-6 * (double)t.tv_usec; }

void rb_load_now(rb_load *out) {
  struct timespec now;
  struct rusage self, children;
  clock_gettime(CLOCK_MONOTONIC, &now);
  getrusage(RUSAGE_SELF, &self), getrusage(RUSAGE_CHILDREN, &children);
  out->wall = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
  out->own =
      seconds(self.ru_utime) + seconds(self.ru_stime) + seconds(children.ru_utime) + seconds(children.ru_stime);
  out->busy = busy_seconds();
}

double rb_load_of_others(const rb_load *before, const rb_load *after) {
  const double wall = after->wall - before->wall, busy = after->busy - before->busy, own = after->own - before->own;
  if (isnan(busy) || wall < 1) return NAN;
  return fmax(0, busy - own) / wall;
}
