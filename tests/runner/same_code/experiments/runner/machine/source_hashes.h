/* SPDX-License-Identifier: BSD-3-Clause */
/* What scripts/source_hashes.sh would write, with hashes and rows made up for test_same_code. */
static const struct {
  const char *family, *cpu, *cuda;
} rb_source_hashes[] = {{"splat", "c3", "g3"}, {"atlas", "a2", "b1"}};
static const struct {
  const char *family, *backend, *then, *now, *except;
} rb_same_code[] = {{"splat", "cuda", "g1", "g2", "splat-cold cuda/fixed64"},
                    {"splat", "cuda", "g2", "g3", ""},
                    {"splat", "cpu", "c1", "c2", ""},
                    {"atlas", "cpu", "a1", "a2", ""},
                    {"atlas", "cpu", "a3", "a4", ""},
                    {"atlas", "cpu", "a4", "a3", ""},
                    {"", "", "", "", ""}};
#define RB_COMMIT "0"
#define RB_DIRTY 0
