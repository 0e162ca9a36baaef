/* SPDX-License-Identifier: BSD-3-Clause */
/* Resampling, phantoms, the notes of what was read. */
#include "tests/cmocka_all.h"

#include "datasets/input_notes.h"
#include "datasets/phantom.h"
#include "datasets/resample.h"
#include "datasets/temporary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void resampling(void **s) {
  (void)s;
  rb_grid from = rb_grid_make(6, 1, 4), to = rb_grid_make(3, 1, 4);
  float in[24], out[24];
  for (int i = 0; i < 24; i++) in[i] = 7;
  for (int how = RB_ANTIALIAS; how <= RB_NEAREST; how++) { /* constants stay */
    assert_int_equal(rb_resample((rb_resampling)how, from, in, to, out), RB_OK);
    for (int i = 0; i < 12; i++) assert_true(fabsf(out[i] - 7) < 1e-6f);
  }
  for (int i = 0; i < 24; i++) in[i] = (float)(i / 4); /* a ramp along x1: centres keep their place inside */
  assert_int_equal(rb_resample(RB_ANTIALIAS, from, in, to, out), RB_OK);
  assert_true(fabsf(out[4] - 2.5f) < 1e-6f);
  assert_int_equal(rb_resample(RB_POINT, from, in, to, out), RB_OK);
  assert_true(fabsf(out[4] - 2.5f) < 1e-6f);
  assert_int_equal(rb_resample(RB_NEAREST, from, in, to, out), RB_OK);
  assert_true(out[4] == 3);                                                /* 2.5: ties up */
  assert_int_equal(rb_resample(RB_ANTIALIAS, from, in, from, out), RB_OK); /* same grid: identity */
  for (int i = 0; i < 24; i++) assert_true(fabsf(out[i] - in[i]) < 1e-6f);
}

static void phantoms(void **s) {
  (void)s;
  rb_grid g = rb_grid_make(24, 24, 24);
  float *intensity = malloc(sizeof(float) * 13824), *label = malloc(sizeof(float) * 13824);
  int seen[7] = {0};
  rb_phantom_head(g, intensity, label);
  for (int i = 0; i < 13824; i++) {
    assert_true(intensity[i] >= -0.01f && intensity[i] <= 1);
    seen[(int)label[i]] = 1;
  }
  for (int l = 0; l < 7; l++) assert_true(seen[l]);
  free(label), free(intensity);
  /* derivatives against central differences */
  const double x[3] = {1.1, 2.3, 4.0}, h = 1e-5;
  double sum = 0;
  for (int a = 0; a < 3; a++) {
    double up[3] = {x[0], x[1], x[2]}, down[3] = {x[0], x[1], x[2]};
    up[a] += h, down[a] -= h;
    assert_true(fabs((rb_phantom_product(up) - rb_phantom_product(down)) / (2 * h) -
                     rb_phantom_product_partial(x, a)) < 1e-8);
    sum += (rb_phantom_vector(up, a) - rb_phantom_vector(down, a)) / (2 * h);
  }
  assert_true(fabs(sum - rb_phantom_vector_divergence(x)) < 1e-8);
}

/* Inputs are told once a case, in order; one that has changed is hashed anew; what was kept can be told again. */
static void inputs_are_noted(void **s) {
  (void)s;
  char folder[200], a[256], b[256], absent[256];
  assert_int_equal(rb_temporary_make(folder, sizeof folder), RB_OK);
  snprintf(a, sizeof a, "%s/a.nii", folder), snprintf(b, sizeof b, "%s/b\xc3\xa4.nii", folder);
  snprintf(absent, sizeof absent, "%s/absent.nii", folder);
  FILE *f = fopen(a, "w");
  assert_true(f && fputs("abc", f) > 0 && fclose(f) == 0);
  f = fopen(b, "w");
  assert_true(f && fclose(f) == 0);
  rb_forget_inputs();
  assert_int_equal(rb_note_input(b), RB_OK);
  assert_int_equal(rb_note_input(absent), RB_OK);
  assert_int_equal(rb_note_input(a), RB_OK);
  assert_int_equal(rb_note_input(b), RB_OK);
  const rb_input_note *first = rb_noted_input(0), *second = rb_noted_input(1);
  assert_true(first && second && !rb_noted_input(2));
  assert_string_equal(first->name, "b??.nii");
  assert_string_equal(second->name, "a.nii");
  assert_string_equal(second->sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  rb_forget_inputs();
  assert_null(rb_noted_input(0));
  rb_note_again(second);
  assert_ptr_equal(rb_noted_input(0), second);
  f = fopen(a, "w");
  assert_true(f && fputs("changed", f) > 0 && fclose(f) == 0);
  rb_forget_inputs();
  assert_int_equal(rb_note_input(a), RB_OK);
  assert_string_not_equal(rb_noted_input(0)->sha256, second->sha256);
  rb_forget_inputs();
  rb_temporary_remove(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(resampling),
      cmocka_unit_test(phantoms),
      cmocka_unit_test(inputs_are_noted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
