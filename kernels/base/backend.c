/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/base/backend.h"

#include <stdlib.h>
#include <string.h>

/* Each block carries its own header on the host side, so that sizes are known on release without
 * touching device memory: a small open list is enough for the few dozen arrays a run holds. */
typedef struct block {
  /* base: what the backend gave; user: what the caller got, behind the lower guard band */
  void *base, *user;
  /* as asked for, guard bands not counted */
  size_t bytes;
  rb_backend_kind kind;
  struct block *next;
} block;

/* 256 bytes before and after each block: the alignment of the backend's memory stays that of the user's */
enum { GUARD = 256, GUARD_BYTE = 0xA5 };

/* The list, its sums and the violations are shared by all backends. The list changes in critical sections only. */
static block *blocks;
static size_t live[RB_BACKENDS], peak[RB_BACKENDS], limit[RB_BACKENDS];
static int violations;

/* Guard bands are of debug builds only: BAND is their width in this build, 0 without them. */
#ifndef NDEBUG
static rb_status fill_guards(const rb_backend *b, block *k) {
  rb_status st = RB_OK;
  char *base = k->base;
  RB_TRY(b->fill(base, GUARD_BYTE, GUARD));
  /* 0xFF in every byte is a NaN in float and double: what is read before it is written shows */
  RB_TRY(b->fill(k->user, 0xFF, k->bytes));
  RB_TRY(b->fill((char *)k->user + k->bytes, GUARD_BYTE, GUARD));
done:
  return st;
}
static void check_guards(const rb_backend *b, const block *k) {
  unsigned char band[GUARD];
  /* a band is fetched to the host, so that device memory is checked, too; a band that cannot be fetched is passed
   * over */
  const void *ends[2] = {k->base, (const char *)k->user + k->bytes};
  for (int e = 0; e < 2; e++) {
    if (b->download(band, ends[e], GUARD) != RB_OK) continue;
    for (int i = 0; i < GUARD; i++)
      if (band[i] != GUARD_BYTE) {
        violations++;
        break;
      }
  }
}
enum { BAND = GUARD };
#else
static rb_status fill_guards(const rb_backend *b, block *k) {
  (void)b, (void)k;
  return RB_OK;
}
/* release builds have no bands to check */
static void check_guards(const rb_backend *b, const block *k) { (void)b, (void)k; }
enum { BAND = 0 };
#endif

rb_status rb_alloc(const rb_backend *b, size_t bytes, void **out) {
  rb_status st = RB_OK;
  block *k = NULL;
  *out = NULL;
  /* the sum with both bands must not wrap */
  RB_CHECK(bytes < SIZE_MAX - 2 * GUARD, RB_ENOMEM, "allocation of %zu bytes overflows", bytes);
  /* rb_memory_limit's pretended size, 0 where there is none */
  RB_CHECK(!limit[b->kind] || live[b->kind] + bytes <= limit[b->kind], RB_ENOMEM,
           "%s memory: %zu bytes asked for, %zu of %zu in use; take a smaller size", b->name, bytes, live[b->kind],
           limit[b->kind]);
  k = calloc(1, sizeof *k);
  RB_CHECK(k, RB_ENOMEM, "host memory: %zu bytes asked for", sizeof *k);
  RB_TRY(b->alloc(bytes + 2 * (size_t)BAND, &k->base));
  k->user = (char *)k->base + BAND;
  k->bytes = bytes;
  k->kind = b->kind;
  RB_TRY(fill_guards(b, k));
  *out = k->user;
#pragma omp critical(rb_blocks)
  {
    k->next = blocks;
    blocks = k;
    live[b->kind] += bytes;
    if (live[b->kind] > peak[b->kind]) peak[b->kind] = live[b->kind];
  }
  /* the block belongs to the list from here on; a failure before gives it back below `done` */
  k = NULL;
done:
  if (k && k->base) b->release(k->base);
  free(k);
  return st;
}

/* The block is found by its address and taken off the list in a critical section; its bands are checked and its
 * memory given back outside of it. An address that is not on the list counts as a violation. */
void rb_release(const rb_backend *b, void *p) {
  if (!p) return;
  block *k = NULL;
#pragma omp critical(rb_blocks)
  {
    /* newest first; the kind tells addresses of two backends apart */
    for (block **link = &blocks; *link; link = &(*link)->next)
      if ((*link)->user == p && (*link)->kind == b->kind) {
        k = *link;
        *link = k->next;
        live[b->kind] -= k->bytes;
        break;
      }
  }
  /* no such block: nothing is freed */
  if (!k) {
    violations++; /* released twice, or never ours */
    return;
  }
  check_guards(b, k);
  b->release(k->base);
  free(k);
}

/* Bytes as asked for, of all blocks of a backend: guard bands and the allocator's own rounding are not counted. */
size_t rb_memory_live(rb_backend_kind kind) { return live[kind]; }
size_t rb_memory_peak(rb_backend_kind kind) { return peak[kind]; }
void rb_memory_reset_peak(rb_backend_kind kind) { peak[kind] = live[kind]; }
int rb_guard_violations(void) { return violations; }
void rb_memory_limit(rb_backend_kind kind, size_t bytes) { limit[kind] = bytes; }

void rb_memory_note(rb_backend_kind kind, int64_t bytes) {
  /* bytes may be negative: what a library has returned */
  live[kind] = (size_t)((int64_t)live[kind] + bytes);
  if (live[kind] > peak[kind]) peak[kind] = live[kind];
}

/* Pieces of 256 KiB, each copied by one thread: they do not overlap. One piece is copied without starting a team. */
void rb_copy_parallel(void *to, const void *from, size_t bytes) {
  enum { PIECE = 256 << 10 };
  const int64_t pieces = (int64_t)((bytes + PIECE - 1) / PIECE);
#pragma omp parallel for schedule(static) if (pieces > 1)
  for (int64_t i = 0; i < pieces; i++) {
    const size_t at = (size_t)i * PIECE, left = bytes - at;
    memcpy((char *)to + at, (const char *)from + at, left < PIECE ? left : PIECE);
  }
}

rb_status rb_fork(const rb_backend *b, int count, int background) {
  return b->fork && (count > 1 || background) ? b->fork(count, background) : RB_OK;
}
void rb_choose_stream(const rb_backend *b, int k) {
  if (b->stream) b->stream(k);
}
rb_status rb_join(const rb_backend *b) { return b->join ? b->join() : RB_OK; }
