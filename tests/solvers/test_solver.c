/* SPDX-License-Identifier: BSD-3-Clause */
/* The contract of solvers: options, numbers, and each solver of solvers.def on a small problem. */
#include "tests/ok.h"

#include "datasets/mesh.h"
#include "kernels/registry/registry.h"
#include "solvers/common/parts.h"
#include "solvers/solver.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 16, VOXELS = SIDE * SIDE * SIDE, POINTS = 20 };

/* Balls 1.5 voxels apart, with labels; points that are moved smoothly. */
static float image[2][VOXELS], labels[2][VOXELS];
static double points[2][3 * POINTS];

static void fill(void) {
  for (int k = 0; k < 2; k++)
    for (int i = 0; i < VOXELS; i++) {
      const double x = i % SIDE - 7 - 1.5 * k, y = i / SIDE % SIDE - 7.5, z = i / SIDE / SIDE - 7.5,
                   r = sqrt(x * x + y * y + z * z);
      image[k][i] = (float)(1 / (1 + exp(2 * (r - 4))));
      labels[k][i] = r < 4;
    }
  for (int i = 0; i < 3 * POINTS; i++) {
    points[0][i] = 3 * sin(1.7 * i + 0.3 * (i % 7));
    points[1][i] = points[0][i] + 0.2 * cos(points[0][i]);
  }
}
static rb_mesh ball[2];
static rb_surface surface[2];
static const rb_subject subject[2] = {{image[0], labels[0], points[0], &surface[0]},
                                      {image[1], labels[1], points[1], &surface[1]}};

/* The balls' surfaces, in voxels along x1, x2, x3. */
static void make_surfaces(void) {
  for (int k = 0; k < 2; k++) {
    const double centre[3] = {7.5, 7.5, 7 + 1.5 * k};
    ok(rb_mesh_sphere(2, 4, centre, &ball[k]));
    surface[k] = (rb_surface){ball[k].vertices, ball[k].faces, ball[k].x, ball[k].face};
  }
}

static rb_problem problem_of(const rb_solver *s) {
  rb_problem p = {.reference = &subject[1], .templates = &subject[0]};
  if (s->takes & RB_TAKES_SURFACES) {
    p.shape =
        (rb_problem_shape){.grid = rb_grid_make(SIDE, SIDE, SIDE), .channels = 1, .templates = 1, .surfaces = 1};
    p.shape.vertices = ball[0].vertices, p.shape.faces = ball[0].faces + ball[1].faces;
    return p;
  }
  if (s->takes & RB_TAKES_IMAGES)
    p.shape = (rb_problem_shape){.grid = rb_grid_make(SIDE, SIDE, SIDE), .channels = 1, .templates = 1, .labels = 1};
  else
    p.shape = (rb_problem_shape){.points = POINTS, .dim = 3, .templates = 1};
  return p;
}

static void *defaults_of(const rb_solver *s) {
  void *o = calloc(1, s->options_size);
  assert_non_null(o);
  s->defaults(o);
  return o;
}

/* ---- options ---------------------------------------------------------------------------------------------- */

typedef struct {
  double width;
  int count, kind, off;
  const char *text;
} toy;
static const rb_solver_option table[] = {
    {"the-width", RB_OPTION_REAL, offsetof(toy, width), .least = RB_POSITIVE, .most = 10},
    {"count", RB_OPTION_WHOLE, offsetof(toy, count), .least = 0},
    {"kind", RB_OPTION_CHOICE, offsetof(toy, kind), .choices = "sum bch compose"},
    {"off", RB_OPTION_FLAG, offsetof(toy, off), .flag = 0},
    {"text", RB_OPTION_TEXT, offsetof(toy, text), .help = ""},
    {NULL},
};

static void options_take_and_refuse(void **state) {
  (void)state;
  static const struct {
    const char *name, *text, *shown;
  } fine[] = {{"the_width", "2.5", "2.5"},
              {"the-width", "10", "10"},
              {"count", "0", "0"},
              {"count", "1e3", "1000"},
              {"kind", "compose", "compose"},
              {"kind", "sum", "sum"},
              {"off", "1", "1"},
              {"off", "0", "0"},
              {"text", "-tao_monitor", "-tao_monitor"}};
  static const struct {
    const char *name, *text, *message;
  } bad[] = {{"the-width", "0", "not a positive number"},
             {"the-width", "-1", "not a positive number"},
             {"the-width", "11", "above 10"},
             {"the-width", "2x", "not a positive number"},
             {"the-width", "", "not a positive number"},
             {"the-width", "nan", "not a positive number"},
             {"the-width", "inf", "not a positive"},
             {"count", "1.5", "not a whole number"},
             {"count", "-1", "not a number from 0 on"},
             {"count", "2e9", "above 1e9"},
             {"kind", "su", "unknown kind"},
             {"kind", "summ", "unknown kind"},
             {"kind", "", "unknown kind"},
             {"kind", "sum bch", "unknown kind"},
             {"off", "yes", "0 or 1"},
             {"text", "", "needs a value"}};
  for (size_t k = 0; k < sizeof fine / sizeof *fine; k++) {
    toy t = {.width = 1};
    char shown[32];
    const rb_solver_option *o = rb_solver_option_find(table, fine[k].name);
    assert_non_null(o);
    ok(rb_solver_option_set(o, &t, fine[k].text));
    rb_solver_option_show(o, &t, shown, sizeof shown);
    assert_string_equal(shown, fine[k].shown);
  }
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    toy t = {.width = 1, .count = 7, .kind = 1}, before = t;
    assert_int_equal(rb_solver_option_set(rb_solver_option_find(table, bad[k].name), &t, bad[k].text), RB_EINVAL);
    assert_non_null(strstr(rb_message(), bad[k].message));
    assert_memory_equal(&t, &before, sizeof t); /* a refused value changes nothing */
    rb_clear();
  }
  assert_null(rb_solver_option_find(table, "width"));
  assert_null(rb_solver_option_find(table, "counts"));
}

/* Every default is a value that its own option takes, and comes back as it was. */
static void defaults_are_values(void **state) {
  (void)state;
  int count;
  const rb_solver *const *all = rb_solvers(&count);
  for (int i = 0; i < count; i++) {
    void *o = defaults_of(all[i]), *copy = malloc(all[i]->options_size);
    assert_non_null(copy);
    memcpy(copy, o, all[i]->options_size);
    for (const rb_solver_option *k = all[i]->options; k->name; k++) {
      char text[64];
      rb_solver_option_show(k, o, text, sizeof text);
      assert_ptr_equal(rb_solver_option_find(all[i]->options, k->name), k); /* names differ */
      if (k->type == RB_OPTION_TEXT) continue;
      ok(rb_solver_option_set(k, copy, text));
      assert_true(k->help && *k->help && k->unit);
    }
    assert_memory_equal(copy, o, all[i]->options_size);
    free(copy), free(o);
  }
}

/* ---- numbers ---------------------------------------------------------------------------------------------- */

static void count_row(void *context, const double *row, int columns) {
  assert_int_equal(columns, 2);
  *(double *)context += row[1];
}
static void solution_grows(void **state) {
  (void)state;
  double sum = 0;
  rb_solution s = {.watch = count_row, .context = &sum, .columns = 2};
  for (int i = 0; i < 1000; i++) rb_solution_row(&s, (double[]){i, 1});
  rb_solution_scalar(&s, "a", 3, "1", "");
  rb_solution_scalar(&s, "b", 4, "1", "");
  assert_true(sum == 1000 && s.rows == 1000 && s.history[2 * 999] == 999 && !s.lost);
  assert_true(rb_solution_value(&s, "b") == 4 && isnan(rb_solution_value(&s, "c")));
  rb_solution_free(&s);
  assert_true(s.rows == 0 && s.scalar_count == 0 && s.watch == count_row);
}

/* ---- solvers ---------------------------------------------------------------------------------------------- */

static int rows_seen;
static void see_row(void *context, const double *row, int columns) {
  (void)context, (void)columns;
  assert_true(isfinite(row[0]));
  rows_seen++;
}

/* Every output is there and finite; labels stay labels. */
static void check_outputs(const rb_solver *s, void *state) {
  for (const rb_output *o = s->outputs; o->name; o++) {
    const int vector = o->kind == RB_OUTPUT_VECTOR || o->kind == RB_OUTPUT_INVERSE,
              field = vector || o->kind <= RB_OUTPUT_LABELS || o->kind == RB_OUTPUT_CHANNELS;
    const size_t count = field                           ? (size_t)(vector ? 3 : 1) * VOXELS
                         : o->kind == RB_OUTPUT_SURFACES ? 3 * (size_t)ball[0].vertices
                         : o->kind == RB_OUTPUT_PATHS    ? (size_t)o->length(state) * 3 * POINTS
                                                         : 3 * (size_t)POINTS;
    double sum = 0;
    float *f = malloc(count * sizeof(double));
    assert_non_null(f);
    memset(f, 0xFF, count * sizeof(double));
    ok(o->get(state, 0, f));
    for (size_t i = 0; i < count; i++) sum += field ? (double)f[i] : ((double *)f)[i];
    assert_true(isfinite(sum));
    for (size_t i = 0; i < count && o->kind == RB_OUTPUT_LABELS; i++) assert_true(f[i] == 0 || f[i] == 1);
    free(f);
  }
}

/* A program of others tells nothing of its way: it has no history. It may not be installed here. */
static int is_program(const rb_solver *s) { return !s->history[0].name; }
static int is_absent(const rb_solver *s, const rb_variant *v) {
  char parts[256];
  s->made_of(v, parts, sizeof parts);
  if (is_program(s) && !*parts) printf("%s: %s is not installed, left out\n", s->family->name, v->name);
  return is_program(s) && !*parts;
}

static void solves_by_the_contract(void **state) {
  (void)state;
  int count;
  const rb_solver *const *all = rb_solvers(&count);
  for (int i = 0; i < count; i++) {
    const rb_solver *s = all[i], *found;
    const rb_variant *v;
    const rb_problem problem = problem_of(s);
    rb_solution solution = {.watch = see_row};
    size_t backend = 0, host;
    char parts[256];
    void *o = defaults_of(s), *solver;
    int columns = 0;
    while (s->history[columns].name) columns++;
    ok(rb_solver_find(s->family->name, &found));
    assert_ptr_equal(found, s);
    ok(rb_variant_find(s->family, s->otherwise, &v));
    if (is_absent(s, v)) {
      free(o);
      continue;
    }
    s->made_of(v, parts, sizeof parts);
    assert_true(strlen(parts) > 4);
    ok(s->predict(v, o, &problem.shape, &backend, &host));
    if (s->check) ok(s->check(&problem));
    rb_memory_reset_peak(v->backend);
    ok(s->create(v, o, &problem, rb_team_self(), NULL, &solver));
    for (int again = 0; again < 2; again++) { /* a second solve begins anew */
      rows_seen = 0;
      ok(rb_solver_solve(s, solver, &solution));
      assert_true(solution.as_asked && solution.seconds > 0 && solution.scalar_count > 0 && !solution.lost);
      assert_true(solution.columns == columns && solution.rows == rows_seen &&
                  rows_seen > !is_program(s) - is_program(s));
    }
    check_outputs(s, solver);
    if (!is_program(s) && (rb_memory_peak(v->backend) > backend + 65536 || backend > 5 * rb_memory_peak(v->backend)))
      printf("%s: %zu bytes predicted, %zu taken\n", s->family->name, backend, rb_memory_peak(v->backend));
    assert_true(rb_memory_peak(v->backend) <= backend + 65536);
    assert_true(is_program(s) || backend <= 5 * rb_memory_peak(v->backend));
    s->destroy(solver);
    rb_solution_free(&solution);
    free(o);
  }
}

/* Ctrl-C from the first row on: RB_OK, its own end, outputs still there. */
static volatile int stop;
static void stop_at_once(void *context, const double *row, int columns) {
  (void)context, (void)row, (void)columns;
  stop = 1;
}
static void interruption_keeps_the_iterate(void **state) {
  (void)state;
  int count;
  const rb_solver *const *all = rb_solvers(&count);
  for (int i = 0; i < count; i++) {
    const rb_solver *s = all[i];
    const rb_variant *v;
    const rb_problem problem = problem_of(s);
    rb_solution solution = {.watch = stop_at_once};
    void *o = defaults_of(s), *solver;
    stop = is_program(s);
    ok(rb_variant_find(s->family, s->otherwise, &v));
    if (is_absent(s, v)) {
      free(o);
      continue;
    }
    ok(s->create(v, o, &problem, rb_team_self(), &stop, &solver));
    ok(rb_solver_solve(s, solver, &solution));
    assert_int_equal(solution.end, RB_END_INTERRUPTED);
    assert_false(solution.as_asked);
    check_outputs(s, solver);
    s->destroy(solver);
    rb_solution_free(&solution);
    free(o);
  }
}

static void unknown_names(void **state) {
  (void)state;
  const rb_solver *s;
  assert_int_equal(rb_solver_find("affine", &s), RB_ENOTFOUND);
  assert_non_null(strstr(rb_message(), "claire, demons, landmarks"));
  rb_clear();
  assert_null(rb_solver_output(&rb_solver_claire, "warp"));
  for (int e = RB_END_CONVERGED; e <= RB_END_DIVERGED; e++)
    assert_true(strlen(rb_solver_end_name((rb_solver_end)e)) > 4);
}

/* Parts of a solve: more points than there are stamps, and stamps that tell nothing. */
static int intervals_fail;
static rb_status a_stamp(int i) { return i < RB_STAMPS ? RB_OK : RB_FAIL(RB_EINVAL, "stamp %d", i); }
static rb_status an_interval(int from, int to, double *seconds) {
  if (intervals_fail) return RB_FAIL(RB_EDEVICE, "no time between %d and %d", from, to);
  *seconds = 0.5;
  return RB_OK;
}
static void parts_are_added(void **state) {
  (void)state;
  static struct {
    rb_parts parts;
    int behind;
  } room = {.behind = 42};
  const rb_backend backend = {.stamp = a_stamp, .stamp_interval = an_interval};
  for (intervals_fail = 0; intervals_fail < 2; intervals_fail++) {
    double seconds[2] = {0};
    rb_parts_begin(&room.parts, 1, &backend, seconds);
    for (int i = 0; i < 2 * RB_STAMPS; i++) rb_parts_end_of(&room.parts, i % 4 == 0 ? RB_PART_NONE : i % 2);
    const rb_status st = rb_parts_add(&room.parts);
    rb_clear();
    assert_int_equal(st, intervals_fail ? RB_EDEVICE : RB_OK);
    assert_int_equal(room.behind, 42);
    if (!intervals_fail) { /* every fourth point ends nothing, nor does the first after all stamps are used up */
      assert_true(seconds[0] == 0.5 * RB_STAMPS / 2);
      assert_true(seconds[1] == 0.5 * RB_STAMPS);
    }
  }
  rb_parts_begin(&room.parts, 0, &backend, NULL); /* nothing is timed */
  rb_parts_end_of(&room.parts, 0);
  ok(rb_parts_add(&room.parts));
}

int main(void) {
  fill();
  make_surfaces();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(options_take_and_refuse),
      cmocka_unit_test(defaults_are_values),
      cmocka_unit_test(solution_grows),
      cmocka_unit_test(solves_by_the_contract),
      cmocka_unit_test(interruption_keeps_the_iterate),
      cmocka_unit_test(unknown_names),
      cmocka_unit_test(parts_are_added),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  int count;
  const rb_solver *const *all = rb_solvers(&count);
  for (int i = 0; i < count; i++)
    if (all[i]->close) all[i]->close();
  for (int k = 0; k < 2; k++) rb_mesh_free(&ball[k]);
  return failed;
}
