/* demons: diffeomorphic log-demons registration (demons2020 Algorithm 1; Vercauteren et al.).
 *
 * A velocity v whose exponential s = exp(v) warps the template M onto the reference F, both in voxels of one grid. An iteration:
 *   u = force(F, M o s);  u = K_fluid * u;  v = K_diffusion * (v + u);  s = exp(v)
 * exp by scaling and squaring: v / 2^N with at most half a voxel anywhere, then N compositions with itself.
 *
 * Images are centred in a grid `padding` times as large along every axis (zeros around). It stops when the mean squared difference of
 * five iterations ago is less than `stop` times the first above the present one, or after `iterations`. */
#ifndef RB_DEMONS_H
#define RB_DEMONS_H

#include "kernels/base/grid.h"
#include "kernels/base/registry.h"

/* Which kernels in which precision: ops of a variant of rb_demons_family. */
typedef struct {
  const char *smooth, *compose, *force;
  rb_dtype dtype;
} rb_demons_config;
extern const rb_family rb_demons_family;

typedef struct {
  double sigma_fluid, sigma_diffusion; /* voxels: 3, 2 */
  double sigma_i, sigma_x;             /* 1, 1 */
  double padding;                      /* 1.2 */
  int iterations;                      /* at most: 75 */
  double stop;                         /* 0.004; 0 never stops early */
  const volatile int *interrupted;
} rb_demons_options;
rb_demons_options rb_demons_defaults(void);

typedef enum { RB_DEMONS_ITERATIONS, RB_DEMONS_CONVERGED, RB_DEMONS_INTERRUPTED } rb_demons_end;

enum { RB_DEMONS_ROWS = 4096 };
typedef struct {
  rb_demons_end end;
  int iterations;
  double before, after;           /* sum of squared differences over the padded grid / voxels of the images' own */
  double energy[RB_DEMONS_ROWS];  /* after each iteration */
  double longest;                 /* displacement, voxels */
  double seconds, setup_seconds;  /* setup: buffers and images on the backend */
} rb_demons_result;

typedef struct rb_demons rb_demons;
typedef void (*rb_demons_hook)(void *context, int iteration, double energy, double longest);

/* Images of the host [n], float32. RB_EINVAL for options out of range. */
rb_status rb_demons_create(const rb_variant *variant, const rb_demons_options *options, rb_grid grid, const float *template_image,
                           const float *reference, rb_demons **out);
/* From v = 0. */
rb_status rb_demons_solve(rb_demons *s, rb_demons_hook hook, void *context, rb_demons_result *out);
/* On the images' own grid, host, float32: any image [n] warped; displacement, velocity [3][n] in voxels; det of its Jacobian [n]. */
rb_status rb_demons_warp(rb_demons *s, const float *image, float *out);
rb_status rb_demons_displacement(rb_demons *s, float *out);
rb_status rb_demons_velocity(rb_demons *s, float *out);
rb_status rb_demons_determinant(rb_demons *s, float *out);
/* exp(a v) of the present velocity as a displacement; after exp(-a v) when `after_inverse`: 0 up to discretisation. [3][n], host. */
rb_status rb_demons_exponential(rb_demons *s, double a, int after_inverse, float *out);
void rb_demons_destroy(rb_demons *s); /* takes NULL */
const char *rb_demons_end_name(rb_demons_end e);

#endif
