/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of brunn2020's Table 6 and their twins, as configuration; parameters and their defaults. */
#include "solvers/claire/claire_impl.h"

#include <string.h>

/* Parts that rows share. dtype is float32 and coordinates are velocities where a row names neither. Labels are
 * carried by a cubic basis in every row, whatever the registration interpolates with: Lagrange on the CPU, the 15-tap
 * prefiltered B-spline of the texture unit in the paper's GPU rows, the exact float32 B-spline in ours. */
#define CPU_LABELS .label_interp = "cpu/omp", .label_basis = "lagrange"
#define CPU_KERNELS .transport = "cpu/composed", .interp = "cpu/omp", .spectral = "cpu/fftw", CPU_LABELS
#define GPU_LABELS .label_interp = "cuda/texture-bspline", .label_basis = "bspline15"
#define GPU_KERNELS .transport = "cuda/composed", .spectral = "cuda/cufft", GPU_LABELS
#define OUR_KERNELS                                                                                                  \
  .transport = "cuda/fused", .spectral = "cuda/cufft", .coordinates = RB_COEFFICIENTS, .label_interp = "cuda/tiled", \
  .label_basis = "bspline"

/* The paper's CPU rows and variations of them: spectral or eighth-order finite differences (FD8) for first
 * derivatives, and the basis that images are interpolated in. */
static const rb_claire_config cpu_fft_cubic = {CPU_KERNELS, .derivative = "cpu/fftw", .scheme = RB_SPECTRAL,
                                               .basis = "lagrange"};
static const rb_claire_config cpu_fd8_cubic = {CPU_KERNELS, .derivative = "cpu/omp", .scheme = RB_FD8,
                                               .basis = "bspline"};
static const rb_claire_config cpu_fd8_linear = {CPU_KERNELS, .derivative = "cpu/omp", .scheme = RB_FD8,
                                                .basis = "linear"};
static const rb_claire_config cpu_fft_cubic_f64 = {CPU_KERNELS, .dtype = RB_F64, .derivative = "cpu/fftw",
                                                   .scheme = RB_SPECTRAL, .basis = "lagrange"};
static const rb_claire_config cpu_fd8_cubic_f64 = {CPU_KERNELS, .dtype = RB_F64, .derivative = "cpu/omp",
                                                   .scheme = RB_FD8, .basis = "bspline"};
static const rb_claire_config cpu_fd8_linear_f64 = {CPU_KERNELS, .dtype = RB_F64, .derivative = "cpu/omp",
                                                    .scheme = RB_FD8, .basis = "linear"};
static const rb_claire_config cpu_coefficients = {CPU_KERNELS, .derivative = "cpu/omp", .scheme = RB_FD8,
                                                  .basis = "linear", .coordinates = RB_COEFFICIENTS};
/* The paper's GPU rows: interpolation by the texture unit, whose weights have 8 bits. */
static const rb_claire_config gpu_fft_cubic = {GPU_KERNELS, .interp = "cuda/texture-bspline", .basis = "bspline15",
                                               .derivative = "cuda/cufft", .scheme = RB_SPECTRAL};
static const rb_claire_config gpu_fd8_cubic = {GPU_KERNELS, .interp = "cuda/texture-bspline", .basis = "bspline15",
                                               .derivative = "cuda/tile", .scheme = RB_FD8};
static const rb_claire_config gpu_fd8_linear = {GPU_KERNELS, .interp = "cuda/texture-linear", .basis = "linear",
                                                .derivative = "cuda/tile", .scheme = RB_FD8};
/* Ours: one kernel a time step, weights in float32, and an optimiser on spectral coefficients. */
static const rb_claire_config our_fft_cubic = {OUR_KERNELS, .interp = "cuda/tiled", .basis = "bspline",
                                               .derivative = "cuda/cufft", .scheme = RB_SPECTRAL};
static const rb_claire_config our_fd8_cubic = {OUR_KERNELS, .interp = "cuda/tiled", .basis = "bspline",
                                               .derivative = "cuda/march", .scheme = RB_FD8};
static const rb_claire_config our_fd8_linear = {OUR_KERNELS, .interp = "cuda/global", .basis = "linear",
                                                .derivative = "cuda/march", .scheme = RB_FD8};

/* Without CUDA the rows are listed all the same; their ops are NULL, which means not built. */
#define FP32 "float32, the paper's separate kernels: "
#ifdef RB_WITH_CUDA
enum { BUILT_WITH_CUDA = 1 };
#else
enum { BUILT_WITH_CUDA = 0 };
#endif
#define GPU(config) (BUILT_WITH_CUDA ? &config : NULL)
static const rb_variant variants[] = {
    {"cpu-fft-cubic", "cpu-fft-cubic", FP32 "spectral derivatives, cubic Lagrange", RB_ON_CPU(&cpu_fft_cubic)},
    {"cpu-fd8-cubic", "", FP32 "FD8, cubic B-spline", RB_ON_CPU(&cpu_fd8_cubic)},
    {"cpu-fd8-linear", "", FP32 "FD8, trilinear", RB_ON_CPU(&cpu_fd8_linear)},
    {"cpu-fft-cubic-f64", "", "cpu-fft-cubic in float64", RB_ON_CPU(&cpu_fft_cubic_f64)},
    {"cpu-fd8-cubic-f64", "", "cpu-fd8-cubic in float64", RB_ON_CPU(&cpu_fd8_cubic_f64)},
    {"cpu-fd8-linear-f64", "", "cpu-fd8-linear in float64", RB_ON_CPU(&cpu_fd8_linear_f64)},
    {"cpu-fd8-linear-coefficients", "", "cpu-fd8-linear, the optimiser working on spectral coefficients",
     RB_ON_CPU(&cpu_coefficients)},
    {"gpu-fft-cubic", "gpu-fft-cubic", FP32 "cuFFT derivatives, GPU-TXTSPL", RB_ON_CUDA(GPU(gpu_fft_cubic))},
    {"gpu-fd8-cubic", "gpu-fd8-cubic", FP32 "GPU-FD8, GPU-TXTSPL", RB_ON_CUDA(GPU(gpu_fd8_cubic))},
    {"gpu-fd8-linear", "gpu-fd8-linear", FP32 "GPU-FD8, GPU-TXTLIN", RB_ON_CUDA(GPU(gpu_fd8_linear))},
    {"fused-fft-cubic", "", "ours: fused transport, spectral coefficients, exact float32 B-spline",
     RB_ON_CUDA(GPU(our_fft_cubic))},
    {"fused-fd8-cubic", "", "ours: the same with FD8", RB_ON_CUDA(GPU(our_fd8_cubic))},
    {"fused-fd8-linear", "", "ours: the same with trilinear float32 interpolation", RB_ON_CUDA(GPU(our_fd8_linear))},
};

const rb_family rb_claire_family = {
    .name = "claire",
    .what = "registration by a stationary velocity, Gauss-Newton-Krylov (brunn2020)",
    .variants = variants,
    .count = sizeof variants / sizeof *variants,
};

/* Tests take their tolerance from this: the texture unit's 8-bit weights limit an image's accuracy, not the data
 * type. */
int rb_claire_weight_bits(const rb_variant *variant) {
  const rb_claire_config *c = variant->ops;
  const rb_variant *interp;
  if (!c || rb_variant_find(&rb_interp_family, c->interp, &interp) != RB_OK) return 0;
  return rb_interp_weight_bits(interp);
}

/* brunn2020, section 4.1.2. beta is the target, 5e-4; the 1e-4 that its section 4.2.1 calls beta is the divergence
 * weight. */
rb_claire_options rb_claire_defaults(void) {
  return (rb_claire_options){.beta = 5e-4,
                             .beta_div = 1e-4,
                             .regularisation = RB_REG_H1_DIV,
                             .steps = 4,
                             .continuation = 1,
                             .tolerance = 5e-2,
                             .presolve = 1e-1,
                             .most_newton = 50,
                             .most_krylov = 500,
                             .sigma = 1};
}

rb_status rb_regularisation_parse(const char *name, rb_regularisation *out) {
  static const char *const names[] = {"h1-div", "h1-semi", "h2-semi", "h1", "h2"};
  for (int i = 0; i < 5; i++)
    if (strcmp(name, names[i]) == 0) {
      *out = (rb_regularisation)i;
      return RB_OK;
    }
  return RB_FAIL(RB_EINVAL, "unknown regularisation '%s': h1-div, h1-semi, h2-semi, h1, h2", name);
}

/* Symbols by wave number k, with beta the level's: A = beta (|k|^2 + gamma)^power, gamma 0 for seminorms; A^-1 the
 * same with -power, and 1 / beta in the null space, where a seminorm's A is 0; form = A, with the divergence
 * penalty beta_w (|k|^2 + 1) k (k.v) added for H1-div: R(v) = 1/2 <v, form v>; K = identity, or for H1-div b -
 * theta k (k.b) / |k|^2 with theta = 1 / (1 + beta / (beta_w (|k|^2 + 1))), which makes A v + K b the gradient of
 * J filtered by K. Volume preservation is theta = 1 (Leray). hd is in A, K and form, not in the preconditioner: CG
 * does not depend on a factor of it. */
rb_claire_operators rb_claire_operators_at(const rb_claire_options *o, double beta, double hd) {
  rb_claire_operators r = {0};
  int power = o->regularisation == RB_REG_H2_SEMI || o->regularisation == RB_REG_H2 ? 2 : 1;
  double gamma = o->regularisation == RB_REG_H1 || o->regularisation == RB_REG_H2 ? 1 : 0;
  r.a = (rb_spectral_op){.kind = RB_OP_HELMHOLTZ, .scale = hd * beta, .alpha = 1, .gamma = gamma, .power = power};
  r.inverse = (rb_spectral_op){
      .kind = RB_OP_HELMHOLTZ, .scale = 1 / beta, .alpha = 1, .gamma = gamma, .power = -power, .null = 1 / beta};
  r.form = r.a; /* without a penalty on div v */
  r.k = rb_spectral_times(hd);
  if (o->regularisation == RB_REG_H1_DIV) {
    r.form = (rb_spectral_op){.kind = RB_OP_H1DIV, .scale = hd, .beta_v = beta, .beta_w = o->beta_div};
    r.k = (rb_spectral_op){.kind = RB_OP_LERAY, .scale = hd, .beta_v = beta, .beta_w = o->beta_div};
  }
  if (o->incompressible) r.k = (rb_spectral_op){.kind = RB_OP_LERAY, .scale = hd, .beta_v = 0, .beta_w = 1};
  return r;
}

/* Fields of N values: the registration's own (images, residual, velocity, body force), the optimiser's vectors
 * (PETSc's NLS and CG hold 11 at once, and one is ours), the transport's, and what its kernels keep. Spectral
 * plans hold their coefficients and, on a GPU, cuFFT's work areas of about the same size. Arrays of values: 9
 * fields of N and 13 vectors of the optimiser. A CPU variant's memory is all on its backend, which is the host. */
rb_status rb_claire_predict(const rb_variant *variant, const rb_claire_options *o, rb_grid grid, size_t *backend,
                            size_t *host) {
  const rb_claire_config *c = variant->ops;
  *backend = *host = 0;
  if (!c) return rb_variant_available(variant);
  double n = (double)rb_grid_points(grid), coefficients = (double)rb_spectral_coefficients(grid);
  double vector = 3 * (c->coordinates == RB_COEFFICIENTS ? coefficients : n);
  double kernels = 3 * n, spectral = 3 * coefficients;
  const rb_variant *variant_of_transport;
  if (rb_variant_find(&rb_transport_family, c->transport, &variant_of_transport) != RB_OK) return RB_EINVAL;
  const double transport = rb_transport_fields(variant_of_transport, o->steps) * n;
  if (variant->backend == RB_CUDA) spectral += 8 * coefficients; /* work areas of four plans */
  if (c->scheme == RB_SPECTRAL) spectral += (variant->backend == RB_CUDA ? 11 : 3) * coefficients;
  double values = 9 * n + 13 * vector + transport + kernels + spectral;
  *backend = (size_t)(values * (double)rb_dtype_size(c->dtype));
  *host = variant->backend == RB_CUDA ? (size_t)(8 * n * sizeof(float)) : 0;
  return RB_OK;
}
