/* SPDX-License-Identifier: BSD-3-Clause */
/* Pictures of a record: PNG files beside it that hold the pixels they were given, told by name and sha256. */
#include "tests/cmocka_all.h"

#include "experiments/runner/base/files.h"
#include "experiments/runner/record/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/regbench-pictures-XXXXXX";

static const char *in_folder(const char *name) {
  static char path[256];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static void remove_folder(void) {
  char command[300];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  assert_int_equal(system(command), 0);
}

/* Grey 5 x 3 and RGB 2 x 4, every pixel another. */
static void two_pictures(rb_pictures *p) {
  unsigned char pixels[24];
  for (int i = 0; i < 24; i++) pixels[i] = (unsigned char)(11 * i + 3);
  assert_int_equal(rb_pictures_add(p, "det F in [0, 2], axial", 5, 3, 1, pixels), RB_OK);
  assert_int_equal(rb_pictures_add(p, "../labels", 2, 4, 3, pixels), RB_OK);
}

/* A valid case whose two pictures were stored. New reference. */
static json_t *a_stored_case(void) {
  rb_record_place place = {0};
  rb_outcome o = {0};
  rb_pictures two = {0};
  snprintf(place.folder, sizeof place.folder, "%s", folder);
  two_pictures(&two);
  rb_outcome_pictures(&o, "panels", &two);
  json_t *c = json_pack("{s:s}", "status", "valid");
  assert_int_equal(rb_record_store_pictures(&place, &o, c), RB_OK);
  rb_pictures_free(&two), rb_outcome_free(&o);
  return c;
}

static void pixels_come_back(void **s) {
  (void)s;
  rb_pictures two = {0};
  two_pictures(&two);
  for (int i = 0; i < 2; i++) {
    unsigned char *png = NULL;
    size_t bytes;
    rb_picture back = {0};
    const rb_picture *p = &two.of[i];
    assert_int_equal(rb_picture_encode(p, &png, &bytes), RB_OK);
    assert_int_equal(rb_write_atomically(in_folder("one.png"), png, bytes), RB_OK);
    assert_int_equal(rb_picture_read(in_folder("one.png"), &back), RB_OK);
    assert_int_equal(back.width, p->width);
    assert_int_equal(back.height, p->height);
    assert_int_equal(back.channels, p->channels);
    assert_memory_equal(back.pixels, p->pixels, (size_t)(p->width * p->height * p->channels));
    free(png), free(back.pixels);
  }
  rb_picture none = {0};
  assert_int_equal(rb_write_atomically(in_folder("one.png"), "no picture", 10), RB_OK);
  assert_int_equal(rb_picture_read(in_folder("one.png"), &none), RB_EFORMAT);
  assert_int_equal(rb_picture_read(in_folder("none.png"), &none), RB_ENOTFOUND);
  rb_clear();
  rb_pictures_free(&two);
}

static void a_case_names_its_files(void **s) {
  (void)s;
  json_t *c = a_stored_case(), *list = json_object_get(json_object_get(c, "details"), "panels");
  const char *record = in_folder("paper.json");
  char first[200];
  assert_int_equal(json_array_size(list), 2);
  assert_int_equal(rb_record_check_pictures(list, record), RB_OK);
  snprintf(first, sizeof first, "%s", rb_json_text(json_array_get(list, 0), "file", ""));
  assert_int_equal(strncmp(first, "pictures/det-f-in-0-2-axial-", 28), 0);
  assert_int_equal(strncmp(rb_json_text(json_array_get(list, 1), "file", ""), "pictures/labels-", 16), 0);

  assert_int_equal(rb_write_atomically(in_folder(first), "damaged", 7), RB_OK);
  assert_int_equal(rb_record_check_pictures(list, in_folder("paper.json")), RB_EFORMAT);
  assert_non_null(strstr(rb_message(), "is not the picture"));
  unlink(in_folder(first));
  assert_int_equal(rb_record_check_pictures(list, in_folder("paper.json")), RB_ENOTFOUND);
  json_object_set_new(json_array_get(list, 0), "file", json_string("pictures/../../secret.png"));
  assert_int_equal(rb_record_check_pictures(list, in_folder("paper.json")), RB_EFORMAT);
  json_decref(c);
}

/* An invalid case shows nothing. */
static void invalid_cases_have_none(void **s) {
  (void)s;
  rb_record_place place = {0};
  rb_outcome o = {0};
  rb_pictures two = {0};
  snprintf(place.folder, sizeof place.folder, "%s/invalid", folder);
  two_pictures(&two);
  rb_outcome_pictures(&o, "panels", &two);
  json_t *c = json_pack("{s:s}", "status", "invalid");
  assert_int_equal(rb_record_store_pictures(&place, &o, c), RB_OK);
  assert_null(json_object_get(c, "details"));
  assert_int_not_equal(access(place.folder, F_OK), 0);
  rb_pictures_free(&two), rb_outcome_free(&o), json_decref(c);
}

/* What a record, one that was set aside or a journal names stays; the rest goes. */
static void unnamed_files_go(void **s) {
  (void)s;
  static const char *const keeper[] = {"paper.json", "quick.json.before.2", "paper.journal"};
  json_t *c = a_stored_case();
  char *text = json_dumps(c, 0), second[200];
  const json_t *list = json_object_get(json_object_get(c, "details"), "panels");
  snprintf(second, sizeof second, "%s", rb_json_text(json_array_get(list, 1), "file", ""));
  for (int k = 0; k < 3; k++) {
    assert_int_equal(rb_write_atomically(in_folder(keeper[k]), text, strlen(text)), RB_OK);
    assert_int_equal(rb_write_atomically(in_folder("pictures/left-over.png"), "x", 1), RB_OK);
    rb_record_prune_pictures(folder);
    assert_int_equal(rb_record_check_pictures(list, in_folder("paper.json")), RB_OK);
    assert_int_not_equal(access(in_folder("pictures/left-over.png"), F_OK), 0);
    unlink(in_folder(keeper[k]));
  }
  rb_record_prune_pictures(folder);
  assert_int_not_equal(access(in_folder(second), F_OK), 0);
  free(text), json_decref(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(pixels_come_back), cmocka_unit_test(a_case_names_its_files),
                                     cmocka_unit_test(invalid_cases_have_none), cmocka_unit_test(unnamed_files_go)};
  if (!mkdtemp(folder)) return 1;
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  remove_folder();
  return failed;
}
