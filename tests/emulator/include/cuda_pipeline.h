/* SPDX-License-Identifier: BSD-3-Clause */
/* Stands in for the CUDA toolkit's header of this name: its C interface; cuda::pipeline is not emulated. */
#pragma once
#include "cuda_pipeline_primitives.h"
