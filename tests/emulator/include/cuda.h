/* SPDX-License-Identifier: BSD-3-Clause */
/* Stands in for the CUDA toolkit's header of this name. */
#error "the emulator has no cuda.h; tests/emulator/README.md lists what it has"
