/* SPDX-License-Identifier: BSD-3-Clause */
/* regbench check: every variant against the oracle and against the properties its family promises. */
#ifndef RB_CHECK_H
#define RB_CHECK_H

#include "experiments/runner/check/junit.h"
#include "kernels/base/grid.h"
#include "kernels/registry/registry.h"

#include <stdio.h>

typedef struct rb_checker {
  const rb_variant *variant; /* under test; set by the driver */
  const rb_family *family;
  FILE *out;          /* where failed checks are told, and with `verbose` all */
  const char *golden; /* folder of recorded GPU outputs */
  FILE *record;       /* not NULL: write golden outputs here instead of comparing */
  int of_variant;     /* golden cases are of the variant itself, to be recorded or compared, not of the oracle */
  int bitwise; /* golden values that agree in all bits with the recorded ones are counted, and which cases do is told
                  where it is known that all must */
  long long golden_values, golden_equal;
  FILE *offered;   /* while a recording is made: where the names go that it lacks; or NULL */
  rb_junit *junit; /* every check is told there, or NULL */
  int verbose;
  int64_t largest; /* sets of more points are left out, and grids of a thousand times as many, and long flows and
                      iterations are shorter; 0: neither */
  int passed, failed, skipped;
  int golden_matched;                         /* cases of the golden file that were compared */
  void (*golden_cases)(struct rb_checker *c); /* the family's recorded cases; set by the driver */
  struct rb_golden_limits *learned;           /* not NULL: rb_check_golden learns limits instead of judging */
} rb_checker;

/* One check of the variant under test. Passes when value <= limit (a NaN fails); prints failures. */
void rb_check_value(rb_checker *c, double value, double limit, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* A check that did not run, and why. */
void rb_check_skip(rb_checker *c, const char *name, const char *reason);
/* Turns a status into a failed check; RB_EUNSUPPORTED into a skip. True when st is RB_OK. */
int rb_check_status(rb_checker *c, rb_status st, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Compare values with what this variant gave on a GPU host, within the limit stored there. Every case of its file
 * must be compared (the driver counts), and a case that the file neither holds nor says it lacks fails. When
 * recording, store values and limit instead. `name`: one word. */
void rb_check_golden(rb_checker *c, const char *name, const float *values, int64_t n, double limit);

/* The variant's recorded outputs: all compared with the CPU's oracle; written to `folder` by a GPU host, and sealed.
 * Sealing tightens the limit of every case from what rounding could do at worst to twice what the oracle differs now
 * (and 16 roundings), so that a drift on either side shows that the worst case would hide. */
/* The same of the variant's own outputs, executed by emulation; counts in c how many values agree in all bits.
 * tests/golden/bitwise.txt names cases that must. */
void rb_golden_compare_emulated(rb_checker *c);
void rb_golden_compare(rb_checker *c);
void rb_golden_record(rb_checker *c, const char *folder);
void rb_golden_update_limits(rb_checker *c, const char *folder);
/* Whether the recording was made by other code than the family's CUDA code of today, and at which commit: nobody has
 * seen what today's gives. */
int rb_golden_of_other_code(const rb_checker *c, char commit[32]);

/* All checks of the variant under test; expects it to be available. */
#define RB_FAMILY(family, what) void rb_check_##family(rb_checker *c);
#include "kernels/registry/families.def"
#undef RB_FAMILY
void rb_check_demons(rb_checker *c);
void rb_check_splat_known(rb_checker *c); /* called by rb_check_splat */
/* Called by rb_check_currents: fixed sources, and for each way of adding up (an rb_currents_method, by its name) what
 * norms of surfaces promise. */
void rb_check_currents_fixed(rb_checker *c);
void rb_check_currents_surfaces(rb_checker *c, rb_dtype t, int method, const char *name);

/* The families that are checked: those of the kernels, and solvers with parts of their own; NULL from the last on. */
const rb_family *rb_check_family(int i);
/* CPU oracle against what this CUDA variant gave on the GPU host. Runs on machines without a GPU. Where a family has
 * no recorded outputs it is not defined. */
#define RB_FAMILY(family, what) void rb_check_##family##_golden(rb_checker *c) __attribute__((weak));
#include "kernels/registry/families.def"
#undef RB_FAMILY

/* The sizes every family is checked at: 1, 2, primes, powers of two and their neighbours, non-cubic. */
extern const rb_grid rb_check_grids[];
extern const int rb_check_grid_count;

/* n values in [-1, 1) of the given precision, reproducible by seed. */
void rb_check_random(rb_dtype t, void *out, int64_t n, uint64_t seed);
/* Whether a grid is within --largest. */
int rb_check_fits(const rb_checker *c, rb_grid grid);
double rb_check_at(rb_dtype t, const void *a, int64_t i);
void rb_check_set(rb_dtype t, void *a, int64_t i, double v);
/* max |a - b|; NaN when either holds one. */
double rb_check_distance(rb_dtype t, const void *a, const void *b, int64_t n);
/* sum a_i b_i in double. */
double rb_check_dot(rb_dtype t, const void *a, const void *b, int64_t n);
/* g[i] = f[(i - shift) mod n] for one component. */
void rb_check_roll(rb_dtype t, rb_grid grid, const void *f, const int shift[3], void *g);

typedef struct {
  int families;
  const char *family[16]; /* none: all */
  const char *junit, *golden, *record;
  const char *variant;       /* only this one, or NULL */
  int verbose, seal, strict; /* strict: recordings of other code fail; else they are skips */
  const char *backend;       /* "cpu" or "cuda": only its variants, or NULL */
  int64_t largest;           /* points of a set; 0: any */
  FILE *out;                 /* a line a variant, and failed checks */
} rb_check_options;
typedef struct {
  int passed, failed, skipped;
} rb_check_counts;
/* What failed is counted, not returned: a status other than RB_OK says that the JUnit file could not be written. */
rb_status rb_check_run(const rb_check_options *options, rb_check_counts *counts);
/* How the CUDA variants of this build are executed here: "gpu", "emulated", "none". */
const char *rb_check_cuda_execution(void);
#endif
