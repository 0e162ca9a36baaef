/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/report/busy_host.h"

#include <stdio.h>

void rb_busy_host_text(const json_t *cases, char *text, size_t size) {
  static const double BUSY = 0.5;
  int timed = 0, beside = 0;
  double most = 0;
  const json_t *c;
  size_t i;
  text[0] = '\0';
  json_array_foreach((json_t *)cases, i, c) {
    const json_t *timing = json_object_get(c, "timing");
    const double others = json_number_value(json_object_get(timing, "others_busy"));
    timed += timing != NULL, beside += others >= BUSY;
    if (others > most) most = others;
  }
  if (beside)
    snprintf(text, size,
             "While %d of %d timed cases were measured, others kept up to %.1f processors busy: times of the CPU's "
             "variants, whose threads wait for each other, are longer for it.",
             beside, timed, most);
}
