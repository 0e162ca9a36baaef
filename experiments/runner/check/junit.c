/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/check/junit.h"

#include "experiments/runner/base/date.h"
#include "experiments/runner/base/markup.h"
#include "experiments/runner/base/files.h"
#include "experiments/runner/check/check.h"
#include "experiments/runner/machine/build.h"
#include "experiments/runner/machine/environment.h"
#include "experiments/runner/record/record.h"
#include "kernels/base/clock.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct rb_junit {
  FILE *cases; /* a memory stream: the elements so far */
  char *text;
  size_t length;
  int count[3]; /* by outcome */
  double began, last;
  char class[192]; /* of the names that follow */
  char **names;
  int name_count, name_room, lost; /* lost: there was no memory for something */
};

rb_junit *rb_junit_open(void) {
  rb_junit *j = calloc(1, sizeof *j);
  if (!j) return NULL;
  j->cases = open_memstream(&j->text, &j->length);
  j->began = j->last = rb_now();
  if (j->cases) return j;
  free(j);
  return NULL;
}

static void forget_names(rb_junit *j) {
  for (int k = 0; k < j->name_count; k++) free(j->names[k]);
  j->name_count = 0;
}
void rb_junit_free(rb_junit *j) {
  if (!j) return;
  forget_names(j);
  if (j->cases) fclose(j->cases);
  free(j->names), free(j->text), free(j);
}

/* How many cases of the class have this name, this one included; it is remembered. */
static int occurrence(rb_junit *j, const char *name) {
  int count = 1;
  for (int k = 0; k < j->name_count; k++) count += strcmp(j->names[k], name) == 0;
  if (j->name_count == j->name_room) {
    const int room = j->name_room ? 2 * j->name_room : 256;
    char **more = realloc(j->names, (size_t)room * sizeof *more);
    if (!more) return j->lost = 1, count;
    j->names = more, j->name_room = room;
  }
  if ((j->names[j->name_count] = strdup(name)))
    j->name_count++;
  else
    j->lost = 1;
  return count;
}

void rb_junit_case(rb_junit *j, const char *family, const char *variant, const char *name, rb_junit_outcome outcome,
                   const char *message) {
  char class[sizeof j->class];
  if (!j) return;
  snprintf(class, sizeof class, "%s.%s", family, variant);
  if (strcmp(class, j->class) != 0) {
    forget_names(j);
    memcpy(j->class, class, sizeof class);
  }
  const double now = rb_now();
  const int number = occurrence(j, name);
  fputs("    <testcase classname=\"", j->cases), rb_put_escaped(j->cases, class);
  fputs("\" name=\"", j->cases), rb_put_escaped(j->cases, name);
  if (number > 1) fprintf(j->cases, " (%d)", number);
  fprintf(j->cases, "\" time=\"%.6f\"", now - j->last);
  j->last = now;
  j->count[outcome]++;
  if (outcome == RB_JUNIT_PASSED) {
    fputs("/>\n", j->cases);
    return;
  }
  fprintf(j->cases, "><%s message=\"", outcome == RB_JUNIT_FAILED ? "failure" : "skipped");
  rb_put_escaped(j->cases, message);
  fputs("\"/></testcase>\n", j->cases);
}

static void property(FILE *f, const char *name, const char *value) {
  fprintf(f, "      <property name=\"%s\" value=\"", name);
  rb_put_escaped(f, value);
  fputs("\"/>\n", f);
}

static void properties(FILE *f) {
  json_t *machine = rb_environment();
  fputs("    <properties>\n", f);
  property(f, "regbench", rb_build_commit());
  property(f, "uncommitted", rb_build_dirty() ? "yes" : "no");
  property(f, "cuda", rb_check_cuda_execution());
  property(f, "host", rb_json_text(machine, "name", "?"));
  property(f, "cpu", rb_json_text(json_object_get(machine, "cpu"), "model", "?"));
  property(f, "gpu", rb_json_text(json_object_get(machine, "gpu"), "name", "none"));
  fputs("    </properties>\n", f);
  json_decref(machine);
}

rb_status rb_junit_write(rb_junit *j, const char *path) {
  rb_status st = RB_OK;
  char *text = NULL, host[128] = "", when[RB_DATE_SIZE];
  size_t size = 0;
  FILE *f = open_memstream(&text, &size);
  RB_CHECK(f && fflush(j->cases) == 0 && !j->lost, RB_ENOMEM, "host memory for %s", path);
  gethostname(host, sizeof host - 1);
  rb_date_now(when);
  fprintf(f,
          "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"regbench check\" "
          "tests=\"%d\" failures=\"%d\" errors=\"0\" skipped=\"%d\" time=\"%.3f\" timestamp=\"%.19s\" hostname=\"",
          j->count[0] + j->count[1] + j->count[2], j->count[RB_JUNIT_FAILED], j->count[RB_JUNIT_SKIPPED],
          rb_now() - j->began, when);
  rb_put_escaped(f, host);
  fputs("\">\n", f);
  properties(f);
  fwrite(j->text, 1, j->length, f);
  fputs("  </testsuite>\n</testsuites>\n", f);
  const int whole = !ferror(f) & (fclose(f) == 0);
  f = NULL;
  RB_CHECK(whole, RB_ENOMEM, "host memory for %s", path);
  RB_TRY(rb_write_atomically(path, text, size));
done:
  if (f) fclose(f);
  free(text);
  return st;
}
