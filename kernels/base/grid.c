/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/base/grid.h"

rb_status rb_grid_check(rb_grid g, const char *family) {
  for (int a = 0; a < 3; a++)
    if (g.n[a] < 1 || g.n[a] > RB_MOST_AXIS)
      return RB_FAIL(RB_EINVAL, "%s: axis %d has %lld points; 1 to 2^20 work", family, a + 1, (long long)g.n[a]);
  return RB_OK;
}
