/* SPDX-License-Identifier: BSD-3-Clause */
/* published: a row of a paper's table that nothing here can run; it shows the printed values and is never judged. */
#include "experiments/runner/workloads/workload.h"

static const rb_variant variants[] = {
    {"none", "", "another group's program; its printed numbers stand beside ours", RB_ON_CPU(&variants)}};
static const rb_family family = {
    .name = "published", .what = "printed values only", .variants = variants, .count = 1};

static void predict(const rb_case *c, int rotations, size_t *backend, size_t *host) {
  (void)c, (void)rotations;
  *backend = *host = 0;
}
static size_t footprint(const rb_case *c) {
  (void)c;
  return 0;
}
static rb_status setup(const rb_case *c, const rb_backend *b, int rotations, void **out) {
  (void)c, (void)b, (void)rotations;
  *out = NULL;
  return RB_FAIL(RB_EUNSUPPORTED, "printed values only");
}
static rb_status run(void *state, int turn) {
  (void)state, (void)turn;
  return RB_EUNSUPPORTED;
}
static rb_status verify(void *state, int turn, rb_outcome *o) {
  (void)state, (void)turn, (void)o;
  return RB_EUNSUPPORTED;
}
static void teardown(void *state) { (void)state; }

static const rb_workload_axis axes[] = {{NULL, NULL}};
const rb_workload rb_workload_published = {"published", &family, predict,  footprint, setup, run,
                                           run,         verify,  teardown, axes,      NULL};
