/* SPDX-License-Identifier: BSD-3-Clause */
/* cpu/composed: the paper's separate kernels on all cores. */
#include "kernels/transport/transport_composed.h"

const rb_transport_ops rb_transport_cpu = RB_COMPOSED_TRANSPORT;
