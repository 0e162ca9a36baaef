/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/run/counters.h"

#include "datasets/temporary.h"
#include "experiments/runner/base/interrupt.h"
#include "experiments/runner/descriptor/cases.h"
#include "experiments/runner/record/record.h"
#include "experiments/runner/run/run.h"
#include "kernels/base/device_info.h"
#include "kernels/base/hardware_counters.h"
#include "kernels/base/process.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FADD "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum"
#define FMUL "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum"
#define FFMA "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"
#define DRAM_READ "dram__bytes_read.sum"
#define DRAM_WRITE "dram__bytes_write.sum"
#define L2 "lts__t_bytes.sum"

/* A quoted CSV line of ncu: the last but two fields are name, unit, value. */
static void add_line(char *line, rb_counters *c) {
  char *field[32];
  int n = 0;
  for (char *s = line; *s && n < 32;) {
    if (*s == '"') {
      field[n++] = ++s;
      s = strchr(s, '"');
      if (!s) return;
      *s++ = '\0';
    } else {
      s++;
    }
  }
  if (n < 3) return;
  char digits[64];
  int k = 0;
  for (const char *s = field[n - 1]; *s && k < 63; s++)
    if (*s != ',') digits[k++] = *s;
  digits[k] = '\0';
  double value = strtod(digits, NULL);
  const char *unit = field[n - 2], *name = field[n - 3];
  if (strcmp(unit, "Kbyte") == 0) value *= 1e3;
  if (strcmp(unit, "Mbyte") == 0) value *= 1e6;
  if (strcmp(unit, "Gbyte") == 0) value *= 1e9;
  if (strcmp(name, FADD) == 0 || strcmp(name, FMUL) == 0) c->flops += value;
  if (strcmp(name, FFMA) == 0) c->flops += 2 * value;
  if (strcmp(name, DRAM_READ) == 0 || strcmp(name, DRAM_WRITE) == 0) c->dram_bytes += value;
  if (strcmp(name, L2) == 0) c->l2_bytes += value;
}

/* This program again, under ncu, for one case. */
static rb_status by_ncu(const rb_case *c, const char *descriptor_path, rb_preset preset, rb_counters *out) {
  rb_status st = RB_OK;
  char self[4096], folder[1024] = "", output[1100], line[8192], last[256] = "no output";
  int code = 0, lines = 0;
  FILE *f = NULL;
  *out = (rb_counters){.how = "ncu"};
  const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  RB_CHECK(n > 0, RB_EIO, "cannot tell where this program lies");
  self[n] = '\0';
  RB_TRY(rb_temporary_make(folder, sizeof folder));
  snprintf(output, sizeof output, "%s/ncu.csv", folder);
  const char *const arguments[] = {"ncu",
                                   "--clock-control",
                                   "none",
                                   "--csv",
                                   "--profile-from-start",
                                   "off",
                                   "--metrics",
                                   FADD "," FMUL "," FFMA "," DRAM_READ "," DRAM_WRITE "," L2,
                                   self,
                                   "run",
                                   "--counters-child",
                                   descriptor_path,
                                   "--counters-case",
                                   c->id,
                                   "--preset",
                                   rb_preset_name(preset),
                                   NULL};
  RB_TRY(rb_process_run(&(rb_process){.output = output, .interrupted = &rb_interrupted},
                        (char *const *)(uintptr_t)arguments, &code));
  RB_CHECK(code != RB_PROCESS_ABSENT, RB_EUNSUPPORTED, "ncu is not on PATH: install Nsight Compute for counters");
  f = fopen(output, "r");
  while (f && fgets(line, sizeof line, f)) {
    if (strstr(line, "==ERROR==")) snprintf(last, sizeof last, "%.240s", line);
    if (line[0] == '"') add_line(line, out), lines++;
  }
  last[strcspn(last, "\n")] = '\0';
  RB_CHECK(code == 0 && lines >= 2 && out->dram_bytes + out->l2_bytes > 0, RB_EUNSUPPORTED,
           "ncu gave no counters (%s)", last);
done:
  if (f) fclose(f);
  if (folder[0]) rb_temporary_remove(folder);
  return st;
}

typedef struct {
  const rb_workload *w;
  void *state;
} work;

static rb_status run_once(void *context) {
  const work *job = context;
  return job->w->run(job->state, 0);
}

static rb_status by_cupti(const rb_workload *w, void *state, rb_counters *out) {
  rb_status st = RB_OK;
  enum { ADD, MUL, FMA, READ, WRITE, CACHE, COUNT };
  const char *metrics[COUNT] = {FADD, FMUL, FFMA, DRAM_READ, DRAM_WRITE, L2};
  double v[COUNT];
  work job = {w, state};
  RB_TRY(rb_cupti_measure(metrics, COUNT, run_once, &job, v));
  RB_CHECK(v[READ] + v[WRITE] + v[CACHE] > 0, RB_EUNSUPPORTED, "CUPTI counted no bytes");
  *out = (rb_counters){
      .flops = v[ADD] + v[MUL] + 2 * v[FMA], .dram_bytes = v[READ] + v[WRITE], .l2_bytes = v[CACHE], .how = "cupti"};
done:
  return st;
}

rb_status rb_counters_measure(const rb_case *c, const rb_workload *w, void **state, const char *descriptor_path,
                              rb_preset preset, rb_counters *out) {
  char refusal[256];
  if (c->variant->backend != RB_CUDA) return RB_FAIL(RB_EUNSUPPORTED, "hardware counters are read on the GPU only");
  if (by_cupti(w, *state, out) == RB_OK) return RB_OK;
  snprintf(refusal, sizeof refusal, "%.250s", rb_message());
  rb_clear();
  w->teardown(*state); /* the child needs the memory */
  *state = NULL;
  rb_status st = by_ncu(c, descriptor_path, preset, out);
  if (st == RB_OK) return RB_OK;
  char second[256];
  snprintf(second, sizeof second, "%.250s", rb_message());
  rb_clear();
  return RB_FAIL(st, "CUPTI: %s; %s", refusal, second);
}

rb_status rb_run_for_counters(const char *descriptor, const char *case_id, rb_preset preset) {
  rb_status st = RB_OK;
  rb_descriptor *d = NULL;
  rb_case *cases = NULL;
  void *state = NULL;
  const rb_workload *w = NULL;
  const rb_backend *b;
  int count = 0, found = 0;
  RB_TRY(rb_descriptor_load(descriptor, &d));
  RB_TRY(rb_cases_expand(d, preset, -1, NULL, 0, &cases, &count));
  for (int i = 0; i < count && !found; i++) {
    if (strcmp(cases[i].id, case_id) != 0) continue;
    found = 1;
    RB_TRY(rb_workload_find(cases[i].method->kind, &w));
    RB_TRY(rb_variant_timed(cases[i].variant));
    RB_TRY(rb_backend_get(cases[i].variant->backend, &b));
    RB_TRY(w->setup(&cases[i], b, 1, &state));
    RB_TRY(w->run(state, 0)); /* first launches load modules */
    RB_TRY(b->sync());
    rb_profiler_start();
    RB_TRY(w->run(state, 0));
    RB_TRY(b->sync());
    rb_profiler_stop();
  }
  RB_CHECK(found, RB_ENOTFOUND, "no case '%s'", case_id);
done:
  if (state) w->teardown(state);
  free(cases);
  rb_descriptor_free(d);
  return st;
}
