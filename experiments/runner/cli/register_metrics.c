/* SPDX-License-Identifier: BSD-3-Clause */
/* metrics.json: one shape for all solvers. */
#include "datasets/manifest.h"
#include "experiments/runner/base/date.h"
#include "experiments/runner/base/files.h"
#include "experiments/runner/cli/register.h"
#include "experiments/runner/cli/register_quality.h"
#include "experiments/runner/machine/build.h"
#include "experiments/runner/machine/environment.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *parameters(const rb_register_request *r) {
  json_t *j = json_object();
  for (const rb_solver_option *o = r->solver->options; o->name; o++) {
    char key[64], text[256];
    snprintf(key, sizeof key, "%s", o->name);
    for (char *c = key; *c; c++)
      if (*c == '-') *c = '_';
    rb_solver_option_show(o, r->options, text, sizeof text);
    const double number = rb_solver_option_number(o, r->options);
    json_object_set_new(j, key,
                        o->type == RB_OPTION_TEXT || o->type == RB_OPTION_CHOICE ? json_string(text)
                        : o->type == RB_OPTION_FLAG                              ? json_boolean(number != 0)
                        : o->type == RB_OPTION_WHOLE                             ? json_integer((json_int_t)number)
                                                                                 : rb_json_number(number));
  }
  return j;
}

static json_t *history(const rb_solver *solver, const rb_solution *s) {
  json_t *rows = json_array();
  for (int i = 0; i < s->rows; i++) {
    json_t *row = json_object();
    for (int k = 0; k < s->columns; k++)
      json_object_set_new(row, solver->history[k].name, rb_json_number(s->history[i * s->columns + k]));
    json_array_append_new(rows, row);
  }
  return rows;
}

static void add_numbers(json_t *j, const rb_solution *s) {
  json_t *values = json_object(), *units = json_object(), *formulas = json_object();
  for (int k = 0; k < s->scalar_count; k++) {
    const rb_scalar *one = &s->scalars[k];
    json_object_set_new(values, one->name, rb_json_number(one->value));
    json_object_set_new(units, one->name, json_string(one->unit));
    json_object_set_new(formulas, one->name, json_string(one->formula));
  }
  json_object_set_new(j, "results", values);
  json_object_set_new(j, "units", units);
  json_object_set_new(j, "formulas", formulas);
}

static void add_inputs(json_t *j, const rb_register_request *r, const rb_register_inputs *in) {
  const rb_pair *pair = &in->pair;
  const rb_problem_shape *shape = &in->problem.shape;
  json_object_set_new(j, "processes", json_integer(r->team->size));
  if (shape->points) {
    json_object_set_new(j, "points",
                        json_pack("{s:s,s:s,s:I,s:i}", "template", r->files[0], "reference", r->files[1], "count",
                                  (json_int_t)shape->points, "dimension", shape->dim));
    return;
  }
  json_object_set_new(
      j, "grid_xyz",
      json_pack("[I,I,I]", (json_int_t)shape->grid.n[2], (json_int_t)shape->grid.n[1], (json_int_t)shape->grid.n[0]));
  if (r->solver->cohort) {
    json_t *files = json_array();
    for (int t = 0; t < in->cohort.count; t++)
      json_array_append_new(files,
                            json_pack("{s:s,s:s}", "name", in->cohort.name[t], "sha256", in->cohort.sha256[t]));
    json_object_set_new(j, "images", files);
    if (in->reference.count)
      json_object_set_new(j, "reference",
                          json_pack("{s:s,s:s}", "name", in->reference.name[0], "sha256", in->reference.sha256[0]));
    json_object_set_new(j, "images_left_out", json_integer(r->image_count - in->cohort.count));
    return;
  }
  if (r->posteriors[0].count) {
    static const char *const sides[2] = {"template", "reference"};
    for (int k = 0; k < 2; k++) {
      json_t *files = json_array();
      for (int i = 0; i < r->posteriors[k].count; i++)
        json_array_append_new(files, json_string(r->posteriors[k].files[i]));
      for (int i = 0; i < r->surfaces[k].count; i++)
        json_array_append_new(files, json_string(r->surfaces[k].files[i]));
      json_object_set_new(j, sides[k], files);
    }
    return;
  }
  json_object_set_new(j, "images",
                      json_pack("{s:s,s:s,s:s,s:s}", "template", pair->file[0], "template_sha256", pair->sha256[0],
                                "reference", pair->file[1], "reference_sha256", pair->sha256[1]));
}

static void add_costs(json_t *j, const rb_solution *s, const rb_register_costs *k) {
  json_t *seconds =
      json_pack("{s:f,s:f,s:f}", "solver", s->seconds, "setup", s->setup_seconds, "files_in_to_files_out", k->total);
  json_t *parts = json_object();
  for (int i = 0; i < s->part_count; i++)
    json_object_set_new(parts, s->parts[i].name, rb_json_number(s->parts[i].value));
  json_object_set_new(seconds, "parts", parts);
  json_object_set_new(j, "seconds", seconds);
  json_object_set_new(j, "memory_predicted_bytes", json_integer((json_int_t)k->predicted));
  json_object_set_new(j, "memory_peak_bytes", json_integer((json_int_t)k->peak));
  json_object_set_new(j, "memory_peak_with_results_bytes", json_integer((json_int_t)k->peak_with_results));
  if (isfinite(k->energy)) json_object_set_new(j, "energy_joule", json_real(k->energy));
  if (isfinite(k->energy_cpu)) json_object_set_new(j, "energy_cpu_joule", json_real(k->energy_cpu));
}

/* Where and when: processor, device, threads, the day. */
static void add_host(json_t *j, const rb_variant *v) {
  char date[RB_DATE_SIZE];
  json_t *all = rb_environment(), *cpu = json_object_get(all, "cpu");
  rb_date_now(date);
  json_object_set_new(j, "date", json_string(date));
  json_object_set(j, "host", json_object_get(cpu, "model"));
  json_object_set(j, "threads", json_object_get(cpu, "threads"));
  json_object_set_new(
      j, "device",
      v->backend == RB_CUDA ? json_incref(json_object_get(json_object_get(all, "gpu"), "name")) : json_string("CPU"));
  json_decref(all);
}

/* What is to be cited: the method, and data sets that an image stems from, known by its checksum. */
static json_t *citations(const rb_register_request *r, const rb_register_inputs *in, const rb_variant *v) {
  enum { MOST_SETS = 64 };
  json_t *all = json_array();
  char names[MOST_SETS][64];
  char own[1024];
  snprintf(own, sizeof own, "%s", r->solver->citation);
  if (r->solver->cite) r->solver->cite(v, r->options, own, sizeof own);
  if (*own) json_array_append_new(all, json_string(own));
  const int sets = rb_manifest_names(names, MOST_SETS);
  for (int k = 0; k < sets; k++) {
    rb_manifest *m;
    if (rb_manifest_load(names[k], &m) != RB_OK) continue;
    int of_it = 0;
    for (unsigned i = 0; i < m->files_count; i++) {
      for (int t = 0; t < 2; t++) of_it |= strcmp(m->files[i].sha256, in->pair.sha256[t]) == 0;
      for (int t = 0; t < in->cohort.count; t++) of_it |= strcmp(m->files[i].sha256, in->cohort.sha256[t]) == 0;
    }
    if (of_it && m->citation) json_array_append_new(all, json_string(m->citation));
    rb_manifest_free(m);
  }
  rb_clear();
  return all;
}

rb_status rb_register_write_metrics(const rb_register_request *r, const rb_register_inputs *in, const rb_variant *v,
                                    const rb_solution *s, const rb_register_costs *costs, const rb_quality *q,
                                    json_t *world) {
  rb_status st = RB_OK;
  char path[4096], program[64], *text = NULL;
  snprintf(program, sizeof program, "regbench register %s", r->solver->family->name);
  json_t *j = json_pack("{s:s,s:s,s:s,s:s,s:b}", "program", program, "commit", rb_build_commit(), "variant", v->name,
                        "end", rb_solver_end_name(s->end), "as_asked", s->as_asked);
  add_host(j, v);
  add_inputs(j, r, in);
  json_object_set_new(j, "cite", citations(r, in, v));
  json_object_set_new(j, "parameters", parameters(r));
  add_numbers(j, s);
  rb_quality_add(q, j);
  json_object_update(j, world);
  add_costs(j, s, costs);
  json_object_set_new(j, "history", history(r->solver, s));
  text = json_dumps(j, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
  RB_CHECK(text && !s->lost, RB_ENOMEM, "host memory");
  RB_TRY(rb_path(path, sizeof path, "%s/metrics.json", r->out));
  RB_TRY(rb_write_atomically(path, text, strlen(text)));
done:
  free(text);
  json_decref(j);
  return st;
}
