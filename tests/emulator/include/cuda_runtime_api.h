/* SPDX-License-Identifier: BSD-3-Clause */
/* Stands in for the CUDA toolkit's header of this name. */
#pragma once
#include "emulated/language.h"
#include "emulated/runtime.h"
