/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/machine/rapl.h"

#include <math.h>
#include <stdio.h>

/* A file with one whole number, of millionths; NaN where it cannot be read. */
static double millionths(const char *folder, int package, const char *name) {
  char path[512];
  double value = NAN;
  snprintf(path, sizeof path, "%s/intel-rapl:%d/%s", folder, package, name);
  FILE *f = fopen(path, "r");
  if (f && fscanf(f, "%lf", &value) != 1) value = NAN;
  if (f) fclose(f);
  return 1e-6 * value;
}

/* intel-rapl:N may also be the whole platform (psys), which holds the packages again. */
static int is_package(const char *folder, int k) {
  char path[512], name[32] = "";
  snprintf(path, sizeof path, "%s/intel-rapl:%d/name", folder, k);
  FILE *f = fopen(path, "r");
  if (f && fscanf(f, "%31s", name) != 1) name[0] = '\0';
  if (f) fclose(f);
  return name[0] == 'p' && name[1] == 'a'; /* package-0 */
}

void rb_rapl_read(const char *folder, rb_rapl *out) {
  *out = (rb_rapl){0};
  for (int k = 0; k < RB_RAPL_PACKAGES; k++) {
    if (!is_package(folder, k)) continue;
    const double joule = millionths(folder, k, "energy_uj"), range = millionths(folder, k, "max_energy_range_uj");
    if (!(joule >= 0 && range > 0)) continue;
    out->joule[out->packages] = joule, out->range[out->packages++] = range;
  }
}

double rb_rapl_spent(const rb_rapl *from, const rb_rapl *to, double seconds) {
  double sum = 0;
  if (from->packages == 0 || from->packages != to->packages) return NAN;
  for (int k = 0; k < to->packages; k++) {
    const double spent = to->joule[k] - from->joule[k];
    if (500 * seconds > to->range[k]) return NAN;
    sum += spent >= 0 ? spent : spent + to->range[k];
  }
  return sum;
}
