/* SPDX-License-Identifier: BSD-3-Clause */
#include "datasets/gzip_write.h"

#include "datasets/whole_file.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { MEMBER = 1 << 20, BATCH = 128, LEVEL = 1 };

typedef struct {
  const unsigned char *from;
  size_t bytes;
  unsigned char *to;
  size_t room, made; /* made: 0 when it failed */
} member;

static void compress_member(member *m) {
  z_stream z = {0};
  m->made = 0;
  if (deflateInit2(&z, LEVEL, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) return;
  z.next_in = (unsigned char *)(size_t)m->from, z.avail_in = (unsigned)m->bytes;
  z.next_out = m->to, z.avail_out = (unsigned)m->room;
  if (deflate(&z, Z_FINISH) == Z_STREAM_END) m->made = m->room - z.avail_out;
  deflateEnd(&z);
}

/* A batch at a time: compressed side by side, written in their order. */
static rb_status write_compressed(rb_whole_file *w, const unsigned char *data, size_t bytes) {
  rb_status st = RB_OK;
  const size_t room = compressBound(MEMBER) + 64;
  const size_t members = (bytes + MEMBER - 1) / MEMBER, side_by_side = members < BATCH ? members : BATCH;
  member batch[BATCH] = {{0}};
  for (size_t k = 0; k < side_by_side; k++) {
    batch[k].to = malloc(room), batch[k].room = room;
    RB_CHECK(batch[k].to, RB_ENOMEM, "host memory: %zu bytes to compress %s", side_by_side * room, w->path);
  }
  for (size_t first = 0; first < members; first += BATCH) {
    const int count = (int)(members - first < BATCH ? members - first : BATCH);
#pragma omp parallel for schedule(dynamic)
    for (int k = 0; k < count; k++) {
      const size_t at = (first + (size_t)k) * MEMBER;
      batch[k].from = data + at, batch[k].bytes = bytes - at < MEMBER ? bytes - at : MEMBER;
      compress_member(&batch[k]);
    }
    for (int k = 0; k < count; k++) {
      RB_CHECK(batch[k].made, RB_ENOMEM, "host memory to compress %s", w->path);
      RB_TRY(rb_whole_file_write(w, batch[k].to, batch[k].made));
    }
  }
done:
  for (int k = 0; k < BATCH; k++) free(batch[k].to);
  return st;
}

rb_status rb_gzip_write(const char *path, const void *head, size_t head_bytes, const void *data, size_t data_bytes) {
  rb_status st = RB_OK;
  rb_whole_file w = {0};
  const size_t length = strlen(path);
  RB_TRY(rb_whole_file_open(&w, path));
  if (length > 3 && strcmp(path + length - 3, ".gz") == 0) {
    RB_TRY(write_compressed(&w, head, head_bytes));
    RB_TRY(write_compressed(&w, data, data_bytes));
  } else {
    RB_TRY(rb_whole_file_write(&w, head, head_bytes));
    RB_TRY(rb_whole_file_write(&w, data, data_bytes));
  }
done:
  return rb_whole_file_end(&w, st);
}
