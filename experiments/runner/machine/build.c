/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/machine/build.h"

#include "experiments/runner/machine/plugin.h"
#include "experiments/runner/machine/source_hashes.h"

#include <string.h>

const char *rb_source_hash(const char *family, rb_backend_kind backend) {
  for (size_t i = 0; i < sizeof rb_source_hashes / sizeof *rb_source_hashes; i++)
    if (strcmp(rb_source_hashes[i].family, family) == 0)
      return backend == RB_CUDA ? rb_source_hashes[i].cuda : rb_source_hashes[i].cpu;
  return "";
}
/* Whether a list of words, a space between two, has this one. */
static int lists(const char *words, const char *word) {
  const size_t length = strlen(word);
  while (length && *words) {
    const size_t next = strcspn(words, " ");
    if (next == length && strncmp(words, word, length) == 0) return 1;
    words += next + (words[next] == ' ');
  }
  return 0;
}
int rb_source_is_current(const char *family, rb_backend_kind backend, const char *hash, const char *kind_of_case,
                         const char *variant) {
  if (rb_is_plugin_source(hash)) return rb_plugin_source_is_current(hash);
  const char *kind = backend == RB_CUDA ? "cuda" : "cpu", *now = rb_source_hash(family, backend);
  const size_t rows = sizeof rb_same_code / sizeof *rb_same_code;
  for (size_t step = 0; step <= rows; step++) { /* a row leads on to the next revision's hash */
    size_t i = 0;
    if (strcmp(hash, now) == 0) return 1;
    while (i < rows && (strcmp(rb_same_code[i].family, family) != 0 || strcmp(rb_same_code[i].backend, kind) != 0 ||
                        strcmp(rb_same_code[i].then, hash) != 0))
      i++;
    if (i == rows || lists(rb_same_code[i].except, kind_of_case) || lists(rb_same_code[i].except, variant)) return 0;
    hash = rb_same_code[i].now;
  }
  return 0;
}
const char *rb_build_commit(void) { return RB_COMMIT; }
int rb_build_dirty(void) { return RB_DIRTY; }
