/* The committed H200 record of table7-point against CLAIRE's own iteration histories there, step by step. */
#include "tests/cmocka_all.h"

#include "experiments/runner/csv.h"
#include "experiments/runner/record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char record_path[] = RB_SOURCE "/results/nvidia-h200/brunn2020/table7-point/paper.json";
static const char history_path[] = RB_SOURCE "/experiments/brunn2020/published/table7-point-history.csv";

static double number(const rb_csv *h, int row, const char *column) { return strtod(rb_csv_at(h, row, rb_csv_column(h, column)), NULL); }
static const char *text(const rb_csv *h, int row, const char *column) { return rb_csv_at(h, row, rb_csv_column(h, column)); }

/* The iterations of `label` for na02 at the size of the history's row. */
static const json_t *iterations(const json_t *record, const char *label, const char *size) {
  size_t i;
  json_t *c;
  json_array_foreach(json_object_get(record, "cases"), i, c) {
    const json_t *axes = json_object_get(c, "axes");
    if (strcmp(rb_json_text(c, "method", ""), label) == 0 && strcmp(rb_json_text(axes, "size", ""), size) == 0 && strcmp(rb_json_text(axes, "data", ""), "na02") == 0)
      return json_object_get(json_object_get(c, "details"), "iterations");
  }
  fail_msg("no case %s at %s^3", label, size);
  return NULL;
}
static double value(const json_t *row, const char *key) { return json_number_value(json_object_get(row, key)); }

/* Every step has its counterpart, with as many Hessian products before it, the mismatch and the gradient within the limits. */
static void follows(const char *prefix, double mismatch, double gradient) {
  json_t *record = NULL;
  rb_csv history = {0};
  char *csv = NULL;
  int compared = 0;
  assert_int_equal(rb_record_load(record_path, &record), RB_OK);
  assert_int_equal(rb_read_file(history_path, &csv, NULL), RB_OK);
  assert_int_equal(rb_csv_parse(csv, history_path, &history), RB_OK);
  for (int row = 1, step = 0; row < history.rows; row++, step++) {
    char label[64];
    snprintf(label, sizeof label, "%s%s", prefix, text(&history, row, "method"));
    if (row > 1 && (strcmp(text(&history, row, "method"), text(&history, row - 1, "method")) != 0 || strcmp(text(&history, row, "size"), text(&history, row - 1, "size")) != 0)) step = 0;
    const json_t *all = iterations(record, label, text(&history, row, "size")), *mine = json_array_get(all, (size_t)step);
    assert_non_null(mine);
    assert_true(value(mine, "level") == number(&history, row, "level") && value(mine, "iteration") == number(&history, row, "iteration"));
    assert_true(value(mine, "matvecs") == number(&history, row, "matvecs"));
    assert_true(fabs(value(mine, "mismatch") / number(&history, row, "mismatch") - 1) <= mismatch);
    assert_true(fabs(value(mine, "gradient") / number(&history, row, "gradient") - 1) <= gradient);
    const int last = row + 1 == history.rows || strcmp(text(&history, row + 1, "method"), text(&history, row, "method")) != 0 ||
                     strcmp(text(&history, row + 1, "size"), text(&history, row, "size")) != 0;
    if (last) assert_int_equal(json_array_size(all), step + 1);
    compared++;
  }
  assert_int_equal(compared, 56);
  rb_csv_free(&history);
  free(csv);
  json_decref(record);
}

static void the_papers_kernels(void **state) {
  (void)state;
  follows("gpu-", 3e-4, 3e-3);
}
/* float32 weights where CLAIRE has the texture unit's 8 bits: gradients at 64^3 end up to 9 % apart. */
static void ours(void **state) {
  (void)state;
  follows("ours ", 3e-3, 0.1);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_papers_kernels), cmocka_unit_test(ours)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
