/* SPDX-License-Identifier: BSD-3-Clause */
/* The variants of the atlas: which kernels in which precision; parameters and their defaults; memory. */
#include "solvers/atlas/atlas_impl.h"

#include <stddef.h>

/* Kernels of l2force, helmholtz, compose and average, the precision, and whether L is solved by sweeps. Velocities by
 * transforms are periodic; by sine transforms and by sweeps they are 0 at the border. */
static const rb_atlas_config cpu_fft = {"cpu/omp", "cpu/fftw", "cpu/omp", "cpu/omp", RB_F32, 0, NULL},
                             cpu_fft_f64 = {"cpu/omp", "cpu/fftw", "cpu/omp", "cpu/omp", RB_F64, 0, NULL},
                             cpu_sor = {"cpu/omp", "cpu/sor", "cpu/omp", "cpu/omp", RB_F32, 1, NULL},
                             cpu_sor_f64 = {"cpu/omp", "cpu/sor", "cpu/omp", "cpu/omp", RB_F64, 1, NULL},
                             cpu_dst = {"cpu/omp", "cpu/dst", "cpu/omp", "cpu/omp", RB_F32, 0, NULL},
                             cpu_dst_f64 = {"cpu/omp", "cpu/dst", "cpu/omp", "cpu/omp", RB_F64, 0, NULL};
static const rb_atlas_config
    gpu_fft = {"cuda/grid", "cuda/cufft", "cuda/planar", "cuda/grid", RB_F32, 0, NULL},
    gpu_sor_plain = {"cuda/grid", "cuda/sor-plain", "cuda/planar", "cuda/grid", RB_F32, 1, NULL},
    gpu_sor_block = {"cuda/grid", "cuda/sor-block", "cuda/planar", "cuda/grid", RB_F32, 1, NULL},
    gpu_sor_march = {"cuda/grid", "cuda/sor-march", "cuda/planar", "cuda/grid", RB_F32, 1, NULL},
    gpu_fft_replay = {"cuda/grid", "cuda/axes", "cuda/planar", "cuda/grid", RB_F32, 0, "cuda/grid"},
    gpu_sor_replay = {"cuda/grid", "cuda/sor-march", "cuda/planar", "cuda/grid", RB_F32, 1, "cuda/grid"};
static const rb_variant variants[] = {
    {"cpu-fft", "CPU FFT", "float32, velocities by FFTW, periodic", RB_ON_CPU(&cpu_fft)},
    {"cpu-fft-f64", "", "the same in float64", RB_ON_CPU(&cpu_fft_f64)},
    {"cpu-sor", "", "float32, velocities by red-black over-relaxation", RB_ON_CPU(&cpu_sor)},
    {"cpu-sor-f64", "", "the same in float64", RB_ON_CPU(&cpu_sor_f64)},
    {"cpu-dst", "", "float32, velocities by sine transforms: what over-relaxation converges to", RB_ON_CPU(&cpu_dst)},
    {"cpu-dst-f64", "", "the same in float64", RB_ON_CPU(&cpu_dst_f64)},
    {"gpu-fft", "GPU FFT", "float32, velocities by cuFFT", RB_ON_CUDA(&gpu_fft)},
    {"gpu-sor-plain", "GPU SOR", "float32, over-relaxation with a kernel a colour", RB_ON_CUDA(&gpu_sor_plain)},
    {"gpu-sor-block", "GPU block SOR", "float32, over-relaxation with both colours in a kernel",
     RB_ON_CUDA(&gpu_sor_block)},
    {"gpu-sor-march", "", "ours: float32, over-relaxation with two sweeps a pass", RB_ON_CUDA(&gpu_sor_march)},
    {"gpu-fft-replay", "",
     "ours: transforms of planes by cuFFT, axis 1 in one pass; an iteration of all images as one launch",
     RB_ON_CUDA(&gpu_fft_replay)},
    {"gpu-sor-replay", "", "ours: gpu-sor-march, an iteration of all images as one launch",
     RB_ON_CUDA(&gpu_sor_replay)},
};
const rb_family rb_atlas_family = {
    .name = "atlas",
    .what = "unbiased mean of N images and their deformations (ha2009)",
    .variants = variants,
    .count = sizeof variants / sizeof *variants,
};

/* alpha, beta and gamma as printed, with the signs that descend; 100 sweeps first and 4 later are the paper's
 * Algorithm 3. The paper does not say how the step is chosen. */
rb_atlas_options rb_atlas_defaults(void) {
  return (rb_atlas_options){.alpha = 1,
                            .gamma = 0.02,
                            .step = 0.2,
                            .iterations = 100,
                            .coarse_iterations = 50,
                            .levels = 1,
                            .first_sweeps = 100,
                            .sweeps = 4,
                            .omega = RB_OMEGA_LAPLACE,
                            .halve = 1,
                            .sum = RB_SUM_FIXED,
                            .spacing = {1, 1, 1},
                            .clip = -1,
                            .checkpoint_minutes = 10};
}

/* Backend: 5 n values an image (image, warped, u), 3 more with sweeps; mean, sums; of each image that
 * is moved at a time force, velocity, next,
 * and what a solve keeps: three spectra, on a GPU cuFFT's work areas beside them, measured as one and a half of
 * these; of sweeps a second array; partial sums. Host: three fields in which images are prepared; a coarser level's
 * copies of one image, and u of every image of the level before; float64 versions of what goes over; a checkpoint's u
 * and v of one image. */
rb_status rb_atlas_predict(const rb_variant *variant, const rb_atlas_options *o, rb_grid grid, int count,
                           size_t *backend, size_t *host) {
  enum { OF_IMAGE = 5, OF_SWEEPS = 3, OF_WORKSPACE = 3 * 3, SHARED = 2, PARTIAL_SUMS = 1 << 16 };
  rb_status st = RB_OK;
  const rb_atlas_config *c = variant->ops;
  *backend = *host = 0;
  if (!c) return rb_variant_available(variant);
  RB_TRY(rb_atlas_check(variant, o, grid, count));
  const double n = (double)rb_grid_points(grid), size = (double)rb_dtype_size(c->dtype),
               spectra = 3.0 * (double)(grid.n[0] * grid.n[1] * (grid.n[2] + 2)),
               of_solve = c->sweeps ? 3 * n : (variant->backend == RB_CUDA ? 2.5 : 1) * spectra,
               of_image = ((double)OF_IMAGE + (c->sweeps ? OF_SWEEPS : 0)) * n,
               concurrent = o->stream ? 1 : rb_atlas_concurrent(c, o, grid, count),
               images = o->stream ? RB_BUFFERS * (of_image - n) + n : of_image * count,
               values = images + SHARED * n + concurrent * (OF_WORKSPACE * n + of_solve),
               streamed = o->stream ? (of_image - n) * count * size / sizeof(float) : 0, /* all but `warped` */
      levels = o->levels > 1 ? 2 * n + 3 * n / 8 * count : 0, wide = c->dtype == RB_F64 ? 6 * n : 0,
               checkpoint = o->checkpoint ? 6 * n * size / sizeof(float) : 0;
  *backend = (size_t)(size * values) + PARTIAL_SUMS;
  *host = (size_t)(sizeof(float) * (3 * n + levels + wide + checkpoint + streamed));
done:
  return st;
}
