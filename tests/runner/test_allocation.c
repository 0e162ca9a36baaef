/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that runs out anywhere. Every kind of case that needs no other program and no set of brains is set up, run,
 * verified, written as JSON and torn down, once for each of its allocations, which fails: on the host (malloc,
 * calloc, realloc, aligned_alloc of this project's code and of jansson) and on the backend (rb_alloc). Each time
 * there must be a status with a message, or a result: a valid one, or one that says itself that it is not. Nothing
 * may be lost, nothing crash. usage: test_allocation [KIND [VARIANT] | cuda]      STRIDE=10: every tenth allocation
 * only; cuda: kernels on a GPU, of which an emulated one has its own allocations fail, too: eight of each case's,
 * which ones by EMULATOR_SEED (what the solvers ask for is the same on both). */
#include "experiments/runner/record/record.h"
#include "experiments/runner/workloads/workload.h"
#include "kernels/base/backend.h"
#include "solvers/claire/claire.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- allocations that fail ------------------------------------------------------------------------------------- */

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_aligned_alloc(size_t alignment, size_t n);
void __real_free(void *p);
rb_status __real_rb_alloc(const rb_backend *b, size_t bytes, void **out);

enum { SLOTS = 1 << 16 };
static void *owned[SLOTS]; /* blocks of the counted allocations that are not freed yet, by hash of their address */
static long made, failing = -1, live;
static int counting, on_host; /* 0 where the case runs on a GPU: what lies below rb_alloc is not ours there */
#ifdef RB_CUDA_EMULATED
enum { EMULATED = 1 };
extern int (*emulator_allocation_fails)(void); /* tests/emulator: device and pinned memory, arrays, cuFFT's plans */
#else
enum { EMULATED = 0 };
#endif

static size_t slot_of(const void *p) { return ((uintptr_t)p >> 4) * 2654435761u % SLOTS; }
static void *own(void *p) {
#pragma omp critical(test_owned)
  if (p && counting && on_host) {
    size_t i = slot_of(p);
    while (owned[i] && owned[i] != (void *)owned) i = (i + 1) % SLOTS; /* `owned` itself marks a freed place */
    owned[i] = p, live++;
  }
  return p;
}
static void disown(void *p) {
#pragma omp critical(test_owned)
  if (p && live) {
    size_t i = slot_of(p);
    while (owned[i] && owned[i] != p) i = (i + 1) % SLOTS;
    if (owned[i] == p) owned[i] = (void *)owned, live--;
  }
}
static int fails(void) {
  int f = 0;
#pragma omp critical(test_made)
  if (counting) f = made++ == failing;
  return f;
}
static int host_fails(void) { return on_host && fails(); }
void *__wrap_malloc(size_t n) { return host_fails() ? NULL : own(__real_malloc(n)); }
void *__wrap_calloc(size_t n, size_t size) { return host_fails() ? NULL : own(__real_calloc(n, size)); }
void *__wrap_aligned_alloc(size_t a, size_t n) { return host_fails() ? NULL : own(__real_aligned_alloc(a, n)); }
void *__wrap_realloc(void *p, size_t n) {
  if (host_fails()) return NULL;
  disown(p);
  return own(__real_realloc(p, n));
}
void __wrap_free(void *p) {
  disown(p);
  __real_free(p);
}
/* On a GPU only this one is counted: what lies below is the driver's. */
rb_status __wrap_rb_alloc(const rb_backend *b, size_t bytes, void **out) {
  *out = NULL;
  if (fails()) return RB_FAIL(RB_ENOMEM, "an allocation that a test lets fail");
  return __real_rb_alloc(b, bytes, out);
}

/* ---- one case -------------------------------------------------------------------------------------------------- */

static int failures, runs;
static long stride = 1, sample, first; /* sample: at most so many of a case's allocations, from `first` on; 0: all */

/* A small value of every axis. */
static const struct {
  const char *axis, *value;
} small[] = {{"size", "8"},        {"data", "phantom"},       {"points", "perturbed"},
             {"omega", "2"},       {"resample", "antialias"}, {"beta", "1e-2"},
             {"sigma", "2"},       {"lambda", "1000"},        {"steps", "3"},
             {"evaluations", "3"}, {"variance", "1"},         {"images", "antialias"},
             {"update", "sum"},    {"sigma_fluid", "1"},      {"iterations", "2"},
             {"stop", "0.001"},    {"ratio", "0.5"}};

/* The value in that table, or of an axis that takes other words its first. */
static const char *small_value(const rb_workload *w, const rb_workload_axis *a, const char *value) {
  static char word[64];
  if (strcmp(w->kind, "surface-distance") == 0 && strcmp(a->name, "data") == 0) return "icosahedra";
  if (strncmp(w->kind, "anatomies", 9) == 0) return NULL; /* its own defaults */
  if (strcmp(a->name, "points") != 0 || strstr(a->values, value)) return value;
  snprintf(word, sizeof word, "%.*s", (int)strcspn(a->values, " "), a->values);
  return word;
}

static rb_status make_case(const rb_workload *w, const rb_variant *v, rb_method *m, const char *basis,
                           const char *scheme, const char *sums, rb_case *c) {
  *m = (rb_method){.label = (char *)v->name, .kind = (char *)w->kind, .variant = (char *)v->name};
  m->basis = (char *)basis, m->scheme = (char *)scheme, m->sums = (char *)sums;
  *c = (rb_case){.method = m, .variant = v};
  snprintf(c->id, sizeof c->id, "%s", v->name);
  for (const rb_workload_axis *a = w->axes; a->name; a++)
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
      if (strcmp(small[i].axis, a->name) == 0) {
        const int count = strcmp(a->values, RB_VALUES_COUNT) == 0, points = count && strcmp(a->name, "points") == 0,
                  images = count && strcmp(a->name, "images") == 0, /* how many; of log-demons how they are made */
            synthetic = strstr(a->values, "synthetic") != NULL;
        const char *value = small_value(w, a, small[i].value);
        if (!value) continue;
        c->axis[c->axes] = a->name;
        c->value[c->axes++] = points ? "12" : images ? "2" : synthetic ? "synthetic-12" : value;
      }
  if (strncmp(w->kind, "anatomies", 9) == 0) { /* a head of 8^3 has no surfaces */
    c->axis[c->axes] = "iterations", c->value[c->axes++] = "1+1";
    c->axis[c->axes] = "sigmas", c->value[c->axes++] = "24+18";
    return rb_size_parse("16", &c->grid);
  }
  return rb_workload_reads(w->kind, "size") ? rb_size_parse("8", &c->grid) : RB_OK;
}

/* CLAIRE's configurations differ in names of kernels, and each takes 1500 allocations: two of them, one with
 * pictures. */
static int stands_for_others(const rb_workload *w, const rb_variant *v) {
  if (w->family != &rb_claire_family) return 1;
  if (strcmp(v->name, "cpu-fd8-linear") == 0) return 1;
  return w == &rb_workload_registration && strcmp(v->name, "cpu-fd8-linear-coefficients") == 0;
}

static int is_kernel(const rb_family *f) {
  int count;
  const rb_family *const *all = rb_families(&count);
  while (count && all[count - 1] != f) count--;
  return count != 0;
}

/* The whole way of a case; 1 in *valid when its outcome is. */
static rb_status whole(const rb_workload *w, const rb_case *c, const rb_backend *b, int *valid) {
  rb_status st = RB_OK;
  void *state = NULL;
  rb_case_result r = {.c = c, .status = RB_CASE_VALID, .ran = 1};
  json_t *j = NULL;
  char *text = NULL;
  *valid = 0;
  RB_TRY(w->setup(c, b, 1, &state));
  RB_TRY(w->poison(state, 0));
  RB_TRY(w->run(state, 0));
  RB_TRY(b->sync());
  RB_TRY(w->verify(state, 0, &r.outcome));
  *valid = rb_outcome_is_valid(&r.outcome);
  j = rb_case_json(&r);
  text = json_dumps(j, 0);
  *valid = *valid && text;
done:
  free(text);
  json_decref(j);
  rb_case_result_free(&r);
  w->teardown(state);
  return st;
}

static void fail(const char *what, const rb_workload *w, const rb_variant *v, long n, const char *why) {
  printf("FAIL %s %s, allocation %ld: %s%s%s\n", w->kind, v->name, n, what, why ? ": " : "", why ? why : "");
  failures++;
}

static void try_all(const rb_workload *w, const rb_variant *v, const char *basis, const char *scheme,
                    const char *sums) {
  rb_method m;
  rb_case c;
  const rb_backend *b;
  int valid;
  if (rb_variant_backend(v, &b) != RB_OK || make_case(w, v, &m, basis, scheme, sums, &c) != RB_OK) {
    rb_clear();
    return;
  }
  /* twice: what is kept from case to case is there, and FFTW has its plans */
  rb_status st = whole(w, &c, b, &valid);
  made = 0, counting = 1;
  if (st == RB_OK) st = whole(w, &c, b, &valid);
  counting = 0;
  const long made_before = made;
  if (st != RB_OK && st != RB_EUNSUPPORTED) fail("does not work", w, v, -1, rb_message());
  if (st == RB_OK && !valid && sample) /* 8-bit weights on a grid of 8^3 */
    printf("%-24s %-30s not valid at this size\n", w->kind, v->name);
  else if (st == RB_OK && !valid)
    fail("is not valid", w, v, -1, NULL);
  rb_clear();
  if (st != RB_OK || !valid) return;
  long step = sample && made_before / sample > stride ? made_before / sample : stride;
  if (strncmp(w->kind, "anatomies", 9) == 0 && step < 11)
    step = strcmp(w->kind, "anatomies") == 0 ? 11 : 53; /* 1700 allocations of some 50 ms: every one in minutes */
  for (long n = first % step;; n += step) {
    const size_t backend_before = rb_memory_live(b->kind);
    const long before = live;
    made = 0, failing = n, on_host = b->kind == RB_CPU || EMULATED;
    counting = 1;
    st = whole(w, &c, b, &valid);
    counting = 0;
    failing = -1;
    const int reached = made > n;
    runs++;
    if (st == RB_OK && !valid && !reached) fail("invalid without a failure", w, v, n, NULL);
    if (st != RB_OK && !rb_message()[0]) fail("no message", w, v, n, NULL);
    if (st != RB_OK && !reached) fail("fails by itself", w, v, n, rb_message());
    if (live != before) fail("host memory is lost", w, v, n, rb_message());
    if (rb_memory_live(b->kind) != backend_before) fail("backend memory is lost", w, v, n, rb_message());
    if (!before) memset(owned, 0, sizeof owned); /* marks of freed places, too */
    live = before;
    rb_clear();
    if (!reached || failures > 200) break;
  }
  printf("%-24s %-30s %ld allocations\n", w->kind, v->name, made);
  fflush(stdout);
}

int main(int argc, char **argv) {
  static const rb_workload *const all[] = {
#define RB_WORKLOAD(name) &rb_workload_##name,
#include "experiments/runner/workloads/workloads.def"
#undef RB_WORKLOAD
  };
  json_set_alloc_funcs(__wrap_malloc, __wrap_free);
  if (getenv("STRIDE") && atol(getenv("STRIDE")) > 0) stride = atol(getenv("STRIDE"));
#ifdef RB_CUDA_EMULATED
  emulator_allocation_fails = fails;
#endif
  omp_set_num_threads(1); /* cases of 8^3 */
  const int cuda_only = argc > 1 && strcmp(argv[1], "cuda") == 0;
  if (cuda_only) argc--, sample = 8, first = getenv("EMULATOR_SEED") ? atol(getenv("EMULATOR_SEED")) : 0;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    const rb_workload *w = all[i];
    /* other programs, sets of brains */
    if (strcmp(w->kind, "published") == 0 || strcmp(w->kind, "external-registration") == 0 ||
        strcmp(w->kind, "register-files") == 0 || strcmp(w->kind, "contest") == 0 ||
        strcmp(w->kind, "template") == 0 || strncmp(w->kind, "anatomies-external", 18) == 0 ||
        strcmp(w->kind, "atlas-processes") == 0 || strcmp(w->kind, "landmarks-cohort") == 0)
      continue;
    if (argc > 1 && strcmp(argv[1], w->kind) != 0) continue;
    const int interp = w->family == &rb_interp_family, derivative = w->family == &rb_derivative_family;
    for (int k = 0; k < w->family->count; k++) {
      const rb_variant *v = &w->family->variants[k];
      if (cuda_only && (v->backend != RB_CUDA || !is_kernel(w->family))) continue;
      if (argc > 2 ? strcmp(argv[2], v->name) != 0 : !stands_for_others(w, v)) continue;
      static const char *const bases[] = {"linear", "lagrange", "bspline", "bspline15"}, *const schemes[] = {
                                                                                             "fd2", "fd8",
                                                                                             "spectral"};
      static const char *const sums[] = {"exact", "plain", "corrected", "cubic"};
      if (interp)
        for (int s = 0; s < 4; s++) try_all(w, v, bases[s], NULL, NULL);
      else if (derivative)
        for (int s = 0; s < 3; s++) try_all(w, v, NULL, schemes[s], NULL);
      else if (w->family == &rb_currents_family)
        for (int s = 0; s < 4; s++) try_all(w, v, NULL, NULL, sums[s]);
      else
        try_all(w, v, NULL, NULL, NULL);
    }
  }
  printf("%d runs, %d failures\n", runs, failures);
  return failures != 0 || runs == 0;
}
