/* SPDX-License-Identifier: BSD-3-Clause */
/* Ours: atomic additions of floats, one by one or, where points have two to four components, of a node's at once. */
#include "kernels/splat/splat_cuda.cuh"

/* One thread a point, whose components follow each other. */
template <int BASIS>
static __global__ void __launch_bounds__(THREADS)
    add_floats(splat_layout l, int boundary, int components, const float *__restrict__ x, const float *__restrict__ m,
               float *out, splat_report *report) {
  const int64_t p = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  /* Points beyond the last leave; there is no barrier. */
  if (p >= l.np) return;
  if (!splat_finite(l, components, x, m, p)) {
    atomicAdd(&report->lost, 1ull);
    return;
  }
  /* Each component is a product in float and an atomic at [component][node]. */
  splat_visit<BASIS>(l, boundary, x[p], x[l.np + p], x[2 * l.np + p], [&](int64_t node, float w) {
    for (int c = 0; c < components; c++) atomicAdd(out + c * l.nodes + node, w * m[c * l.np + p]);
  });
}

/* Sums are made in the caller's array: no room. */
static rb_status plan_floats(const rb_backend *backend, const rb_splat_desc *d, rb_splat_plan **out) {
  (void)d;
  return splat_plan_create(backend, 0, out);
}
/* Sums are 0, then every point adds its eight (64) weights: the order of additions, and so the last bits, differ from
 * run to run. */
static rb_status run_floats(rb_splat_plan *head, const void *x, const void *m, void *out) {
  rb_status st = RB_OK;
  /* Two passes: clear, add. */
  const rb_splat_desc *d = &head->desc;
  const splat_layout l = splat_layout_of(d);
  splat_report *report = ((splat_plan *)head)->report;
  RB_TRY(splat_begin(head, out, (size_t)(l.nodes * d->components) * sizeof(float)));
  /* The basis is known when the kernel is compiled: its taps unroll. */
  if (d->basis == RB_SPLAT_LINEAR)
    RB_LAUNCH(add_floats<RB_SPLAT_LINEAR>, rb_blocks(l.np, THREADS), THREADS, 0, l, (int)d->boundary, d->components,
              (const float *)x, (const float *)m, (float *)out, report);
  else
    RB_LAUNCH(add_floats<RB_SPLAT_CUBIC>, rb_blocks(l.np, THREADS), THREADS, 0, l, (int)d->boundary, d->components,
              (const float *)x, (const float *)m, (float *)out, report);
done:
  return st;
}

extern "C" const rb_splat_ops rb_splat_float_atomic = {
    splat_supports_float, plan_floats, run_floats, splat_outcome, splat_destroy, 0, 0, NULL, NULL};

/* ---- vectors: nodes of four floats, then apart ---- */

/* Components that share a 16-byte atomic must be at least two and at most four. */
static rb_status supports_vectors(const rb_splat_desc *d) {
  if (d->components < 2 || d->components > 4)
    return RB_FAIL(RB_EUNSUPPORTED, "cuda/vector-atomic takes two to four components");
  return splat_supports_float(d);
}
/* Four floats a node, whatever the number of components. */
static size_t room_vectors(const rb_splat_desc *d) { return (size_t)rb_grid_points(d->grid) * sizeof(float4); }
static rb_status plan_vectors(const rb_backend *backend, const rb_splat_desc *d, rb_splat_plan **out) {
  return splat_plan_create(backend, room_vectors(d), out);
}

/* One thread a point: one 16-byte atomic a node (sm_90) where floats would take one a component. A node's floats lie
 * side by side in `sums`; absent components stay 0. sums [node] of four floats, on 16 bytes; the components are known
 * when compiled. */
template <int BASIS, int COMPONENTS>
static __global__ void __launch_bounds__(THREADS)
    add_vectors(splat_layout l, int boundary, const float *__restrict__ x, const float *__restrict__ m, float4 *sums,
                splat_report *report) {
  const int64_t p = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (p >= l.np) return;
  if (!splat_finite(l, COMPONENTS, x, m, p)) { /* a point with one bad mass is lost with all its components */
    atomicAdd(&report->lost, 1ull);
    return;
  }
  /* The masses are read once; absent components are zeros. */
  const float4 v = make_float4(m[p], m[l.np + p], COMPONENTS > 2 ? m[2 * l.np + p] : 0.0f,
                               COMPONENTS > 3 ? m[3 * l.np + p] : 0.0f);
  splat_visit<BASIS>(l, boundary, x[p], x[l.np + p], x[2 * l.np + p], [&](int64_t node, float w) {
    /* All components in one 16-byte addition where the device has it. */
    rb_atomic_add4(sums + node, make_float4(w * v.x, w * v.y, w * v.z, w * v.w));
  });
}
/* One thread a node. From [node][4] to the planar [component][node]. */
static __global__ void __launch_bounds__(THREADS)
    take_apart(int64_t nodes, int components, const float4 *__restrict__ sums, float *__restrict__ out) {
  const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  /* 16 bytes read a node, up to four planar stores. */
  if (i >= nodes) return;
  const float4 s = sums[i];
  out[i] = s.x, out[nodes + i] = s.y;
  if (components > 2) out[2 * nodes + i] = s.z;
  if (components > 3) out[3 * nodes + i] = s.w;
}

/* Three passes: clear, add, take apart. */
static rb_status run_vectors(rb_splat_plan *head, const void *x, const void *m, void *out) {
  rb_status st = RB_OK;
  const rb_splat_desc *d = &head->desc;
  const splat_layout l = splat_layout_of(d);
  splat_plan *p = (splat_plan *)head;
  const unsigned blocks = rb_blocks(l.np, THREADS);
  /* The sums are cleared, not `out`: take_apart writes every node. */
  RB_TRY(splat_begin(head, p->room, (size_t)l.nodes * sizeof(float4)));
#define ADD(BASIS, COMPONENTS)                                                                           \
  RB_LAUNCH((add_vectors<BASIS, COMPONENTS>), blocks, THREADS, 0, l, (int)d->boundary, (const float *)x, \
            (const float *)m, (float4 *)p->room, p->report)
  if (d->basis == RB_SPLAT_LINEAR) {
    /* Basis and components are known when the kernel is compiled. */
    if (d->components == 2)
      ADD(RB_SPLAT_LINEAR, 2);
    else if (d->components == 3)
      ADD(RB_SPLAT_LINEAR, 3);
    else
      ADD(RB_SPLAT_LINEAR, 4);
  } else {
    if (d->components == 2)
      ADD(RB_SPLAT_CUBIC, 2);
    else if (d->components == 3)
      ADD(RB_SPLAT_CUBIC, 3);
    else
      ADD(RB_SPLAT_CUBIC, 4);
  }
#undef ADD
  RB_LAUNCH(take_apart, rb_blocks(l.nodes, THREADS), THREADS, 0, l.nodes, d->components, (const float4 *)p->room,
            (float *)out);
done:
  return st;
}

extern "C" const rb_splat_ops rb_splat_vector_atomic = {
    supports_vectors, plan_vectors, run_vectors, splat_outcome, splat_destroy, 0, 0, room_vectors, NULL};
