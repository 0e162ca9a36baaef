/* cuda/cufft of spectral: transforms, and one pass that multiplies all components by the symbol and 1/N. */
#include "kernels/spectral/fft_cuda.cuh"
#include "kernels/spectral/spectral.h"
#include "kernels/spectral/spectral_symbol.h"

#include <stdlib.h>

typedef struct {
  rb_spectral_plan head;
  rb_cufft fft;
  float2 *spectrum;
} cufft_plan;

static rb_status supports(const rb_spectral_desc *d) {
  return d->dtype == RB_F32 ? RB_OK : RB_FAIL(RB_EUNSUPPORTED, "the CUDA variants are float32 only");
}

static void destroy(rb_spectral_plan *head) {
  cufft_plan *p = (cufft_plan *)head;
  rb_cufft_destroy(&p->fft);
  rb_release(head->backend, p->spectrum);
  free(p);
}

static rb_status plan(const rb_backend *backend, const rb_spectral_desc *d, rb_spectral_plan **out) {
  rb_status st = RB_OK;
  cufft_plan *p = (cufft_plan *)calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  p->head.backend = backend;
  RB_TRY(rb_alloc(backend, (size_t)rb_cufft_coefficients(d->grid) * (size_t)d->components * sizeof(float2), (void **)&p->spectrum));
  RB_TRY(rb_cufft_create(&p->fft, d->grid, d->components == 3));
  *out = &p->head;
  return RB_OK;
done:
  if (p) destroy(&p->head);
  return st;
}

static __global__ void __launch_bounds__(256) pass(float2 *__restrict__ u, int64_t count, int n1, int n2, int n3, int components,
                                                  rb_spectral_op op, float3 spacing, float scale) {
  int64_t p = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= count) return;
  float k[3], h[3] = {spacing.x, spacing.y, spacing.z};
  rb_wavenumbers(p, n1, n2, n3, k);
  float s = rb_symbol_f32(&op, h, k);
  if (op.kind != RB_OP_LERAY) {
    for (int c = 0; c < components; c++) {
      float2 v = u[c * count + p];
      u[c * count + p] = make_float2(v.x * s * scale, v.y * s * scale);
    }
    return;
  }
  float2 a = u[p], b = u[count + p], c = u[2 * count + p];
  float re = s * (k[0] * a.x + k[1] * b.x + k[2] * c.x), im = s * (k[0] * a.y + k[1] * b.y + k[2] * c.y);
  u[p] = make_float2(scale * (a.x - k[0] * re), scale * (a.y - k[0] * im));
  u[count + p] = make_float2(scale * (b.x - k[1] * re), scale * (b.y - k[1] * im));
  u[2 * count + p] = make_float2(scale * (c.x - k[2] * re), scale * (c.y - k[2] * im));
}

static rb_status apply(rb_spectral_plan *head, const rb_spectral_op *op, const void *in, void *out) {
  rb_status st = RB_OK;
  cufft_plan *p = (cufft_plan *)head;
  rb_grid g = head->desc.grid;
  int64_t count = rb_cufft_coefficients(g);
  float3 h = make_float3((float)rb_grid_spacing(g, 0), (float)rb_grid_spacing(g, 1), (float)rb_grid_spacing(g, 2));
  RB_TRY(rb_cufft_forward(&p->fft, head->desc.components, (const float *)in, p->spectrum));
  RB_LAUNCH(pass, rb_blocks(count, 256), 256, 0, p->spectrum, count, (int)g.n[0], (int)g.n[1], (int)g.n[2], head->desc.components, *op, h,
            (float)(1.0 / (double)rb_grid_points(g)));
  RB_TRY(rb_cufft_inverse(&p->fft, head->desc.components, p->spectrum, (float *)out));
done:
  return st;
}

extern "C" const rb_spectral_ops rb_spectral_cufft = {supports, plan, apply, destroy};
