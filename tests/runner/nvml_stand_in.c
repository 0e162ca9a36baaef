/* SPDX-License-Identifier: BSD-3-Clause */
/* A libnvidia-ml.so.1 for tests on machines without a GPU: one board that takes 300 W, and throttles as it is told.
 */
#include <time.h>

static const unsigned char *masks;
static int count, calls;

/* The reasons of the next calls, the last one's from then on. */
void stand_in_throttle(const unsigned char *of_calls, int n);
void stand_in_throttle(const unsigned char *of_calls, int n) { masks = of_calls, count = n, calls = 0; }

int nvmlInit_v2(void);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
int nvmlDeviceGetCurrentClocksEventReasons(void *device, unsigned long long *reasons);
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoule);

int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
  static int board;
  *device = &board;
  return index != 0;
}
int nvmlDeviceGetCurrentClocksEventReasons(void *device, unsigned long long *reasons) {
  (void)device;
  const int i = calls < count ? calls : count - 1;
  *reasons = count ? masks[i] : 0;
  calls++;
  return 0;
}
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoule) {
  struct timespec now;
  (void)device;
  clock_gettime(CLOCK_MONOTONIC, &now);
  *millijoule = (unsigned long long)(300e3 * ((double)now.tv_sec + 1e-9 * (double)now.tv_nsec));
  return 0;
}
