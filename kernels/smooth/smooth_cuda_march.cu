/* SPDX-License-Identifier: BSD-3-Clause */
/* Ours: all three axes in one kernel. Planes of a tile are filtered along x2 and x3 from shared memory and along x1
 * in registers, where a thread keeps the sums that are not complete yet. Radii are compiled in (compiled_radius). */
#include "kernels/smooth/smooth_cuda_march.cuh"

/* A tile is TILE3 x TILE2 outputs of a plane; its 512 threads take QUADS x TILE2 quads, four outputs along x3 each.
 * DEEP: outputs down a column that a task filters along x2. */
enum { TILE3 = 64, TILE2 = 32, FUSED_THREADS = 512, QUADS = TILE3 / 4, DEEP = 8 };

/* V: floats a load brings (4 where rows begin on 16 bytes); P: planes a step, between two barriers; STAGES: steps
 * whose planes have room in shared memory, all but one on their way. Beside them lie the planes of two steps,
 * filtered along x2. */
template <int R, int V, int P, int STAGES>
struct shape {
  /* SIDE: R rounded up to whole quads, so that rows begin on 16 bytes. WIDTH x HEIGHT: a tile with its halo. CELLS:
   * floats of it. LOADS: copies of V floats a thread and plane. */
  enum {
    SIDE = (R + 3) / 4 * 4,
    WIDTH = TILE3 + 2 * SIDE,
    HEIGHT = TILE2 + 2 * R,
    CELLS = WIDTH * HEIGHT,
    LOADS = (CELLS / V + FUSED_THREADS - 1) / FUSED_THREADS
  };
  /* FILTERED: floats of a plane filtered along x2, halo along x3 still there. TASKS: columns' pieces of DEEP in P
   * planes. BYTES: shared memory in all. */
  enum {
    FILTERED = TILE2 * WIDTH,
    TASKS = P * FILTERED / DEEP,
    BYTES = P * (STAGES * CELLS + 2 * FILTERED) * (int)sizeof(float)
  };
};

/* sum[q] = the kernel over a[SIDE + q - R .. SIDE + q + R]. Pairs of equal weight are added first, then multiplied:
 * half as many multiplications. From the middle outwards. */
template <int R, int COUNT, int SIDE>
static __device__ __forceinline__ void filter(const weights &w, const float *a, float *sum) {
#pragma unroll
  for (int q = 0; q < COUNT; q++) {
    sum[q] = w.k[0] * a[SIDE + q];
#pragma unroll
    for (int d = 1; d <= R; d++) sum[q] = fmaf(w.k[d], a[SIDE + q - d] + a[SIDE + q + d], sum[q]);
  }
}

/* How tiles are dealt to blocks. The first `whole` take a tile each, all its planes: neighbours run side by side and
 * find each other's borders in the L2 cache. The planes of the other tiles, one tile after the other, go in runs of
 * `planes` to the blocks that follow, or, with pieces > 0, every tile in so many pieces, the first of all tiles
 * first. */
typedef struct {
  int whole, planes, pieces, blocks;
} cut;

/* Planes z of a step are filtered along x2 while those of the next steps are on their way, and those of the step
 * before are filtered along x3, four outputs a thread, and added to the 2 R + 1 sums along x1. */
template <int R, int V, int P, int STAGES>
static __global__ void __launch_bounds__(FUSED_THREADS, 1)
    fused_kernel(int n1, int n2, int n3, int tiles, cut c, weights w, const float *__restrict__ in,
                 float *__restrict__ out) {
  typedef shape<R, V, P, STAGES> S;
  RB_DYNAMIC_SHARED(float, planes, 16);
  /* raw: planes as they were loaded, with halo; columns: the same filtered along x2. */
  float *const raw = planes, *const columns = planes + STAGES * P * S::CELLS; /* [STAGES][P][...], [2][P][...] */
  const int t = threadIdx.x, across = (n3 + TILE3 - 1) / TILE3, down = (n2 + TILE2 - 1) / TILE2;
  const int64_t plane = (int64_t)n2 * n3;
  const int mine =
      t / QUADS * S::WIDTH + t % QUADS * 4; /* where the four outputs' first value lies in a filtered plane */
  /* Planes are numbered through all tiles: plane i1 of tile T is T n1 + i1. at .. stop - 1 are this block's. */
  int at, stop, b = (int)blockIdx.x - c.whole;
  if (b < 0)
    at = (int)blockIdx.x * n1, stop = at + n1;
  else if (c.pieces == 0)
    at = c.whole * n1 + b * c.planes, stop = min(at + c.planes, tiles * n1);
  else {
    const int rest = tiles - c.whole, tile = c.whole + b % rest;
    at = tile * n1 + b / rest * c.planes, stop = min(at + c.planes, (tile + 1) * n1);
  }

  while (at < stop) { /* a tile's planes begin .. end - 1 */
    const int tile = at / n1, begin = at % n1, end = min(n1, begin + stop - at);
    /* Tiles run along x3, then x2, then components. */
    const int x0 = tile % across * TILE3, y0 = tile / across % down * TILE2;
    /* low .. high - 1: planes that exist and contribute; those beyond the grid count as zeros. */
    const int low = max(begin - R, 0), high = min(end + R, n1);
    const float *f = in + tile / (across * down) * plane * n1 + low * plane;
    const int x = x0 + t % QUADS * 4, y = y0 + t / QUADS;
    /* g: the thread's output of the plane that is R behind the first one loaded; it moves on by a plane a step, and
     * is written to between begin and end only. */
    float *g = out + tile / (across * down) * plane * n1 + (low - R) * plane + (int64_t)y * n3 + x;
    /* The same places in every plane: worked out once a tile. Without packs the columns beyond R either side are not
     * used and not loaded. */
    int from[S::LOADS]; /* of a plane; -1: zeros */
#pragma unroll
    for (int q = 0; q < S::LOADS; q++) {
      const int cell = (t + q * FUSED_THREADS) * V, i = x0 + cell % S::WIDTH - S::SIDE, j = y0 + cell / S::WIDTH - R;
      const bool used = V > 1 || (i >= x0 - R && i < x0 + TILE3 + R);
      from[q] = cell < S::CELLS && i >= 0 && i < n3 && j >= 0 && j < n2 && used ? j * n3 + i : -1;
    }
    /* acc[q][j]: the sum so far of output plane s - R + j, value q of the quad, where s is the plane added last; the
     * last stays 0. */
    float acc[4][2 * R + 2] = {}; /* outputs from begin on need nothing from below low */

    /* Asks for the P planes from z on, into a stage; planes beyond `high` are left out, the group is committed all
     * the same, so that groups can be counted. `f` runs along with the calls. */
    auto load = [&](int z, int stage) {
#pragma unroll
      for (int half = 0; half < P; half++)
        if (z + half < high) {
          float *to = raw + (stage * P + half) * S::CELLS + t * V;
#pragma unroll
          for (int q = 0; q < S::LOADS; q++)
            if ((t + q * FUSED_THREADS) * V < S::CELLS)
              rb_copy_async<V>(to + q * FUSED_THREADS * V, f + max(from[q], 0), from[q] >= 0);
          f += plane;
        }
      rb_copy_async_commit();
    };
    at += end - begin;
    __syncthreads(); /* the tile before is done with; STAGES - 1 steps are asked for before the first is used */
#pragma unroll
    for (int q = 0; q < STAGES - 1; q++) load(low + q * P, q);
    int stage = 0, turn = 0;
    /* What one step filters along x2 is added along x1 in the next: z runs P planes beyond the last one needed. */
    for (int z = low; z < end + R + P; z += P, turn ^= 1) {
      /* All groups but the last STAGES - 2 have come: the planes of this step are among them. */
      rb_copy_async_wait<STAGES - 2>();
      __syncthreads(); /* the planes z are there, and so are the filtered ones before them; the other buffers are read
                          no more */
      /* Into the stage that was used in the step before: all have passed the barrier behind it. */
      load(z + (STAGES - 1) * P, stage == 0 ? STAGES - 1 : stage - 1);
      if (z < high) {
        /* Along x2: a task is DEEP outputs down one column; lanes take neighbouring columns, without bank
         * conflicts. */
#pragma unroll
        for (int first = 0; first < S::TASKS; first += FUSED_THREADS) {
          const int task = first + t, half = task / (S::FILTERED / DEEP), rest = task % (S::FILTERED / DEEP),
                    row = rest / S::WIDTH * DEEP, column = rest % S::WIDTH;
          if (task >= S::TASKS || z + half >= high)
            break; /* beyond the last plane nothing was loaded, and nothing uses it */
          const float *s = raw + (stage * P + half) * S::CELLS + row * S::WIDTH + column;
          float *to = columns + (turn * P + half) * S::FILTERED + row * S::WIDTH + column;
          float v[DEEP + 2 * R], sum[DEEP];
          /* DEEP + 2 R values serve DEEP outputs: each is read once a task. */
#pragma unroll
          for (int q = 0; q < DEEP + 2 * R; q++) v[q] = s[q * S::WIDTH];
          filter<R, DEEP, R>(w, v, sum);
#pragma unroll
          for (int q = 0; q < DEEP; q++) to[q * S::WIDTH] = sum[q];
        }
      }
      stage = stage == STAGES - 1 ? 0 : stage + 1;
      /* In the first step nothing filtered lies ready. */
      if (z == low) continue;
        /* Along x3, for the planes of the step before, from the other half of `columns`. */
#pragma unroll
      for (int half = 0; half < P; half++) {
        const int to = z - P + half - R;
        float v[4] = {};
        /* Planes beyond the last contribute zeros (v = 0), which the shift below needs. */
        if (to + R < high) {
          const float *s = columns + ((turn ^ 1) * P + half) * S::FILTERED + mine;
          float a[4 + 2 * S::SIDE];
#pragma unroll
          for (int q = 0; q < 4 + 2 * S::SIDE; q += 4)
            *reinterpret_cast<float4 *>(a + q) = *reinterpret_cast<const float4 *>(s + q);
          filter<R, 4, S::SIDE>(w, a, v);
        }
        /* Along x1: the new plane is added to the 2 R + 1 outputs that it reaches, and the sums move on by one.
         * acc[q][0] is complete then: output plane `to`. */
#pragma unroll
        for (int q = 0; q < 4; q++)
#pragma unroll
          for (int j = 0; j <= 2 * R; j++) acc[q][j] = fmaf(w.k[j < R ? R - j : j - R], v[q], acc[q][j + 1]);
        if (to >= begin && to < end && y < n2) {
          if (V == 4) {
            if (x < n3)
              __stcs(reinterpret_cast<float4 *>(g), make_float4(acc[0][0], acc[1][0], acc[2][0], acc[3][0]));
          } else {
#pragma unroll
            for (int q = 0; q < 4; q++)
              if (x + q < n3) __stcs(g + q, acc[q][0]);
          }
        }
        g += plane;
      }
    }
  }
}

/* Fewest planes for the slowest of `slots` multiprocessors; a run filters 2 R planes more than it puts out, twice so
 * where it crosses into the next tile. */
static cut best_cut(int tiles, int n1, int radius, int slots) {
  /* The first candidate: all tiles that fill whole rounds of `slots` blocks, then runs of equal length from the rest.
   * Costs are counted in planes. */
  const int alone = tiles / slots * slots, rest = tiles - alone;
  const int64_t before = (int64_t)(alone / slots) * (n1 + 2 * radius), all = (int64_t)rest * n1;
  cut best = {alone, 0, 0, 0};
  int64_t least = 0;
  best.planes = (int)((all + slots - 1) / slots), best.blocks = alone + (rest ? slots : 0);
  for (int b = 0; b < slots && rest; b++) {
    /* first .. last: planes of run b; every tile that it touches costs 2 radius planes more. */
    const int64_t first = (int64_t)b * best.planes,
                  last = (first + best.planes < all ? first + best.planes : all) - 1;
    const int64_t cost = first > last ? 0 : last - first + 1 + (last / n1 - first / n1 + 1) * 2 * radius;
    if (cost > least) least = cost;
  }
  least += before;
  for (int pieces = 1; pieces <= n1 && pieces <= 64; pieces++)
    for (int some = 0; some < 2; some++) { /* all tiles in pieces, or the rest */
      /* Rounds of blocks times what one piece costs. */
      const int whole = some ? alone : 0, planes = (n1 + pieces - 1) / pieces, used = (n1 + planes - 1) / planes,
                blocks = (tiles - whole) * used;
      const int64_t cost = (whole ? before : 0) + (int64_t)((blocks + slots - 1) / slots) * (planes + 2 * radius);
      if (cost < least) least = cost, best = (cut){whole, planes, used, whole + blocks};
    }
  return best;
}

/* ---- dispatch ----------------------------------------------------------------------------------------- */

template <int R, int V, int P, int STAGES>
static rb_status fused_by(const rb_smooth_plan *p, int processors, const rb_smooth_kernel *k, const void *in,
                          void *out) {
  rb_status st = RB_OK;
  const int n1 = (int)p->desc.grid.n[0], n2 = (int)p->desc.grid.n[1], n3 = (int)p->desc.grid.n[2];
  const int tiles = (int)(rb_blocks(n3, TILE3) * rb_blocks(n2, TILE2)) * p->desc.components,
            bytes = shape<R, V, P, STAGES>::BYTES;
  const cut c = best_cut(tiles, n1, R, processors);
  /* More than 48 KiB of shared memory must be asked for. */
  RB_CUDA_TRY(
      cudaFuncSetAttribute(fused_kernel<R, V, P, STAGES>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  RB_LAUNCH((fused_kernel<R, V, P, STAGES>), c.blocks, FUSED_THREADS, bytes, n1, n2, n3, tiles, c, weights_of(k),
            (const float *)in, (float *)out);
done:
  return st;
}
template <int R>
static rb_status fused(const rb_smooth_plan *p, const rb_smooth_kernel *k, const void *in, void *out) {
  rb_status st = RB_OK;
  /* stages that fit the 64 KiB of compute capability 7.5; planes a step that fit the 227 KiB of 9.0 */
  enum { FEW = R > 7 ? 2 : 3, MANY = R > 7 ? 3 : 4 };
  /* Packs of four: rows begin on 16 bytes in both arrays. */
  const bool quads = p->desc.grid.n[2] % 4 == 0 && ((uintptr_t)in | (uintptr_t)out) % 16 == 0;
  int device, processors, shared;
  RB_CUDA_TRY(cudaGetDevice(&device));
  RB_CUDA_TRY(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
  RB_CUDA_TRY(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  if (shape<R, 4, MANY, 2>::BYTES <= shared)
    return quads ? fused_by<R, 4, MANY, 2>(p, processors, k, in, out)
                 : fused_by<R, 1, MANY, 2>(p, processors, k, in, out);
  if (shape<R, 4, 2, 3>::BYTES <= shared)
    return quads ? fused_by<R, 4, 2, 3>(p, processors, k, in, out) : fused_by<R, 1, 2, 3>(p, processors, k, in, out);
  return quads ? fused_by<R, 4, 1, FEW>(p, processors, k, in, out)
               : fused_by<R, 1, 1, FEW>(p, processors, k, in, out);
done:
  return st;
}
static rb_status run(rb_smooth_plan *p, const rb_smooth_kernel *k, const void *in, void *out) {
  switch (compiled_radius(k->radius, FUSED_MOST)) {
    case 3:
      return fused<3>(p, k, in, out);
    case 6:
      return fused<6>(p, k, in, out);
    case 7:
      return fused<7>(p, k, in, out);
    case 9:
      return fused<9>(p, k, in, out);
    default:
      return RB_FAIL(RB_EUNSUPPORTED, "smooth: radius %d fused; up to %d work", k->radius, FUSED_MOST);
  }
}

extern "C" const rb_smooth_ops rb_smooth_march = {
    smooth_supports, smooth_wide_plan, smooth_march_pass, run, smooth_wide_destroy, FUSED_MOST, 0};
