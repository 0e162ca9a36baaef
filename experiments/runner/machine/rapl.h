/* SPDX-License-Identifier: BSD-3-Clause */
/* Energy of the processors' packages by Linux's powercap (RAPL; AMD's and Intel's): of the whole host, whoever uses
 * it. Its counters are readable by root alone on most hosts, and absent in virtual machines. */
#ifndef RB_RAPL_H
#define RB_RAPL_H

enum { RB_RAPL_PACKAGES = 16 };
typedef struct {
  int packages;                                            /* 0: none can be read */
  double joule[RB_RAPL_PACKAGES], range[RB_RAPL_PACKAGES]; /* range: where a counter begins at 0 again */
} rb_rapl;

#define RB_RAPL_FOLDER "/sys/class/powercap"
void rb_rapl_read(const char *folder, rb_rapl *out);
/* Joule between two readings `seconds` apart; NaN: nothing was read, or a counter may have begun anew more than once,
 * at 500 W a package. */
double rb_rapl_spent(const rb_rapl *from, const rb_rapl *to, double seconds);
#endif
