/* SPDX-License-Identifier: BSD-3-Clause */
/* Child processes: exit codes, output, limits, interruption; nothing that they start stays behind. */
#include "tests/cmocka_all.h"

#include "kernels/base/clock.h"
#include "kernels/base/process.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/regbench-process-XXXXXX", output[64];

static int shell(const rb_process *how, const char *script, int *code) {
  char *const arguments[] = {"sh", "-c", (char *)(size_t)script, NULL};
  *code = -1000;
  return rb_process_run(how, arguments, code);
}

/* Whether the process whose number the shell wrote to the file "pid" still runs; one that is dead may wait for
 * somebody to ask for its status. */
static int grandchild_lives(void) {
  char path[96], state = 'Z';
  int pid = 0;
  snprintf(path, sizeof path, "%s/pid", folder);
  FILE *f = fopen(path, "r");
  assert_non_null(f);
  assert_int_equal(fscanf(f, "%d", &pid), 1);
  fclose(f), unlink(path);
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  usleep(100000);
  f = fopen(path, "r");
  if (f && fscanf(f, "%*d %*s %c", &state) != 1) state = 'Z';
  if (f) fclose(f);
  return state != 'Z' && state != 'X';
}

static void codes_and_output(void **s) {
  (void)s;
  const rb_process how = {.folder = folder, .output = output};
  char text[256] = "";
  int code;
  assert_int_equal(shell(&how, "echo one; echo two >&2; pwd", &code), RB_OK);
  assert_int_equal(code, 0);
  assert_int_equal(shell(&how, "cat; echo three; exit 7", &code), RB_OK); /* cat: there is no input */
  assert_int_equal(code, 7);
  assert_int_equal(shell(&how, "kill -9 $$", &code), RB_OK);
  assert_int_equal(code, -SIGKILL);
  FILE *f = fopen(output, "r");
  assert_non_null(f);
  text[fread(text, 1, sizeof text - 1, f)] = '\0';
  fclose(f);
  assert_int_equal(strncmp(text, "one\ntwo\n/tmp/regbench-process-", 30), 0);
  assert_non_null(strstr(text, "\nthree\n"));
  char *const nobody[] = {"regbench-no-such-program", NULL};
  assert_int_equal(rb_process_run(&how, nobody, &code), RB_OK);
  assert_int_equal(code, RB_PROCESS_ABSENT);
}

static void limits_end_all_of_it(void **s) {
  (void)s;
  int code;
  const double start = rb_now();
  const rb_process how = {.folder = folder, .seconds = 1};
  assert_int_equal(shell(&how, "sleep 60 & echo $! >pid; wait", &code), RB_EIO);
  assert_non_null(strstr(rb_message(), "did not end within 1 s"));
  assert_true(rb_now() - start < 10);
  assert_false(grandchild_lives());
}

static volatile int interrupted;
static void interrupt(int signal) { (void)signal, interrupted = 1; }
static void interrupt_in_a_second(void) {
  interrupted = 0;
  signal(SIGALRM, interrupt);
  alarm(1);
}

static void interruption_ends_all_of_it(void **s) {
  (void)s;
  int code;
  const rb_process how = {.folder = folder, .interrupted = &interrupted};
  const double start = rb_now();
  interrupt_in_a_second();
  assert_int_equal(shell(&how, "sleep 60 & echo $! >pid; wait", &code), RB_EINTERRUPTED);
  assert_true(rb_now() - start < 4);
  assert_false(grandchild_lives());
  interrupt_in_a_second();
  assert_int_equal(shell(&how, "trap '' TERM; sleep 60 & echo $! >pid; wait; sleep 60", &code), RB_EINTERRUPTED);
  assert_true(rb_now() - start < 15);
  assert_false(grandchild_lives());
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(codes_and_output), cmocka_unit_test(limits_end_all_of_it),
                                     cmocka_unit_test(interruption_ends_all_of_it)};
  if (!mkdtemp(folder)) return 1;
  snprintf(output, sizeof output, "%s/output.txt", folder);
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  return system(command) || failed;
}
