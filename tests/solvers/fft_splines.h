/* SPDX-License-Identifier: BSD-3-Clause */
/* The twin of CLAIRE's GPU rows with spectral derivatives: the paper's cubic CPU row with splines instead of Lagrange
 * polynomials. */
#ifndef RB_TEST_FFT_SPLINES_H
#define RB_TEST_FFT_SPLINES_H

#include "solvers/claire/claire.h"

static const rb_claire_config fft_splines = {.transport = "cpu/composed",
                                             .interp = "cpu/omp",
                                             .spectral = "cpu/fftw",
                                             .label_interp = "cpu/omp",
                                             .label_basis = "bspline",
                                             .derivative = "cpu/fftw",
                                             .scheme = RB_SPECTRAL,
                                             .basis = "bspline"};
static const rb_variant cpu_fft_splines = {"cpu-fft-splines", "", "", RB_ON_CPU(&fft_splines)};

#endif
