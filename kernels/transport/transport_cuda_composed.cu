/* SPDX-License-Identifier: BSD-3-Clause */
/* The paper's separate kernels on the GPU. */
#include "kernels/transport/transport_composed.h"

extern "C" const rb_transport_ops rb_transport_cuda = RB_COMPOSED_TRANSPORT;
