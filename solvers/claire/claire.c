/* SPDX-License-Identifier: BSD-3-Clause */
/* Creating a registration: plans, buffers, preprocessing. */
#include "solvers/claire/claire_impl.h"
#include "solvers/common/field_variant.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A plan of one component for this alone: smoothing happens twice a registration, and its spectrum need not stay.
 * sigma in grid cells of each axis, as exp(-1/2 sum (sigma h k)^2) on the spectrum; the domain is periodic, nothing
 * is padded. sigma = 0: nothing is done. */
rb_status rb_claire_smooth(const rb_claire *c, double sigma, rb_array f) {
  rb_status st = RB_OK;
  const rb_variant *v;
  rb_spectral_plan *plan = NULL;
  rb_spectral_desc d = {.grid = c->grid, .dtype = c->config.dtype, .components = 1};
  rb_spectral_op op = {.kind = RB_OP_GAUSSIAN, .scale = 1, .sigma = {sigma, sigma, sigma}};
  if (sigma == 0) return RB_OK;
  RB_TRY(rb_variant_find(&rb_spectral_family, c->config.spectral, &v));
  RB_TRY(rb_spectral_create(v, &d, &plan));
  RB_TRY(rb_spectral_apply(plan, &op, f, f));
done:
  rb_spectral_destroy(plan);
  return st;
}

/* Negative values are background; (value - min) / max. NaN and constant images are refused. The divisor is the
 * greatest value before the least is subtracted, as in the paper's program: an image without background does not
 * reach 1. The host's copy is freed at once; `to` stays for the registration. */
static rb_status normalised(const rb_claire *c, const char *which, const float *image, rb_array to) {
  rb_status st = RB_OK;
  float least = INFINITY, most = -INFINITY, *scaled = malloc((size_t)c->n * sizeof *scaled);
  RB_CHECK(scaled, RB_ENOMEM, "host memory: %zu bytes", (size_t)c->n * sizeof *scaled);
  for (int64_t i = 0; i < c->n; i++) {
    RB_CHECK(isfinite(image[i]), RB_EINVAL, "the %s image holds a NaN or infinite voxel at index %lld", which,
             (long long)i);
    scaled[i] = image[i] > 0 ? image[i] : 0; /* below 0: background */
    least = fminf(least, scaled[i]), most = fmaxf(most, scaled[i]);
  }
  RB_CHECK(most > least, RB_EINVAL, "the %s image is constant: there is nothing to register", which);
  for (int64_t i = 0; i < c->n; i++) scaled[i] = (scaled[i] - least) / most;
  RB_TRY(rb_array_put_floats(to, scaled));
  RB_TRY(rb_claire_smooth(c, c->options.sigma, to));
done:
  free(scaled);
  return st;
}

/* Used for images by the registration's interpolation and for labels by theirs. */
rb_transport_desc rb_claire_transport_desc(const rb_claire_config *config, const rb_claire_options *o, rb_grid grid,
                                           const char *interp, const char *basis) {
  rb_transport_desc d = {.grid = grid, .dtype = config->dtype, .steps = o->steps, .scheme = config->scheme};
  /* the names are our own tables' */
  rb_variant_find(&rb_interp_family, interp, &d.interp);
  rb_variant_find(&rb_derivative_family, config->derivative, &d.derivative);
  d.field = rb_field_variant(d.interp->backend);
  rb_interp_basis_parse(basis, &d.basis, &d.prefilter);
  return d;
}

/* What a caller may get wrong; ranges of the command line stand in claire_solver.c. */
static rb_status check_options(const rb_claire_options *o) {
  rb_status st = RB_OK;
  RB_CHECK(o->beta > 0 && isfinite(o->beta), RB_EINVAL, "beta is %g; it must be positive", o->beta);
  RB_CHECK(o->beta_div > 0 && isfinite(o->beta_div), RB_EINVAL,
           "the divergence weight is %g; it must be positive (or take --regularisation h1-semi)", o->beta_div);
  RB_CHECK(o->steps >= 1 && o->steps <= 64, RB_EINVAL, "%d time steps; 1 to 64 work", o->steps);
  RB_CHECK(o->tolerance > 0 && o->presolve > 0 && o->tolerance < 1 && o->presolve < 1, RB_EINVAL,
           "tolerances lie between 0 and 1");
  RB_CHECK(o->most_newton >= 1 && o->most_krylov >= 1, RB_EINVAL, "iteration limits must be at least 1");
  RB_CHECK(o->sigma >= 0 && isfinite(o->sigma), RB_EINVAL, "smoothing sigma is %g; it must not be negative",
           o->sigma);
done:
  return st;
}

/* Front doors of the kernels: transport of images and adjoints, spectral operators of velocities, and vectors of
 * `unknowns` values. Their scratch is theirs; fields that several steps share are allocated in rb_claire_create. */
static rb_status create_plans(rb_claire *c) {
  rb_status st = RB_OK;
  const rb_variant *transport, *spectral;
  rb_transport_desc t = rb_claire_transport_desc(&c->config, &c->options, c->grid, c->config.interp, c->config.basis);
  rb_spectral_desc s = {.grid = c->grid, .dtype = c->config.dtype, .components = 3};
  rb_field_desc f = {.count = c->unknowns, .dtype = c->config.dtype};
  RB_TRY(rb_variant_find(&rb_transport_family, c->config.transport, &transport));
  RB_TRY(rb_variant_find(&rb_spectral_family, c->config.spectral, &spectral));
  RB_TRY(rb_transport_create(transport, &t, &c->transport));
  RB_TRY(rb_spectral_create(spectral, &s, &c->spectral));
  RB_TRY(rb_field_create(rb_field_variant(c->backend->kind), &f, &c->field));
done:
  return st;
}

/* Nothing of the caller's is kept but the flag of the options and the names in the variant: images are copied to the
 * backend. A failure on the way gives back what was made so far. The optimiser comes last, as it needs x and the
 * plans. */
rb_status rb_claire_create(const rb_variant *variant, const rb_claire_options *options, rb_grid grid,
                           const float *template_image, const float *reference_image, rb_claire **out) {
  rb_status st = RB_OK;
  const rb_backend *backend;
  rb_claire *c = NULL;
  *out = NULL;
  RB_TRY(check_options(options));
  RB_TRY(rb_variant_backend(variant, &backend));
  c = calloc(1, sizeof *c);
  RB_CHECK(c, RB_ENOMEM, "host memory");
  c->backend = backend;
  c->variant = variant;
  c->config = *(const rb_claire_config *)variant->ops; /* a copy: names are constants */
  c->options = *options;
  c->grid = grid;
  c->n = rb_grid_points(grid);
  /* the optimiser moves velocities at the nodes, or their half spectra as real numbers */
  c->unknowns = 3 * (c->config.coordinates == RB_COEFFICIENTS ? rb_spectral_coefficients(grid) : c->n);
  RB_CHECK(c->unknowns < (int64_t)1 << 31, RB_EUNSUPPORTED,
           "PETSc's 32-bit indices end at 2^31 values, %lld needed; take a smaller size", (long long)c->unknowns);
  /* a node's share of the volume: sums over nodes become integrals */
  c->hd = rb_grid_spacing(grid, 0) * rb_grid_spacing(grid, 1) * rb_grid_spacing(grid, 2);
  RB_TRY(create_plans(c));
  rb_array *scalars[] = {&c->template_image, &c->reference_image, &c->lambda};
  for (int i = 0; i < 3; i++) RB_TRY(rb_array_create(c->backend, c->config.dtype, c->n, scalars[i]));
  RB_TRY(rb_array_create(c->backend, c->config.dtype, 3 * c->n, &c->v));
  RB_TRY(rb_array_create(c->backend, c->config.dtype, 3 * c->n, &c->b));
  RB_TRY(rb_array_create(c->backend, c->config.dtype, c->unknowns, &c->work));
  RB_TRY(normalised(c, "template", template_image, c->template_image));
  RB_TRY(normalised(c, "reference", reference_image, c->reference_image));
  RB_TRY(rb_vec_create(c->backend, c->config.dtype, c->unknowns, &c->x)); /* the iterate */
  RB_TRY(rb_krylov_options(options->petsc));                              /* before TAO reads them */
  RB_TRY(rb_claire_optimiser_create(c));
  *out = c;
  c = NULL;
done:
  rb_claire_destroy(c);
  return st;
}

/* TAO first: it holds x and duplicates of it. rb_vec_destroy then gives back the memory of duplicates that TAO or CG
 * may have left. */
void rb_claire_destroy(rb_claire *c) {
  if (!c) return;
  rb_claire_optimiser_destroy(c);
  rb_vec_destroy(&c->x);
  rb_transport_destroy(c->transport);
  rb_spectral_destroy(c->spectral);
  rb_field_destroy(c->field);
  rb_array *arrays[] = {&c->template_image, &c->reference_image, &c->lambda, &c->v, &c->b, &c->work};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) rb_array_destroy(arrays[i]);
  free(c);
}
