/* SPDX-License-Identifier: BSD-3-Clause */
/* check: the command line. */
#include "datasets/manifest.h"
#include "datasets/whole_file.h"
#include "experiments/runner/check/check.h"
#include "experiments/runner/cli/commands.h"
#include "experiments/runner/cli/exit_codes.h"
#include "experiments/runner/record/record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char check_help[] =
    "usage: regbench check [FAMILY...] [OPTIONS]\n\n"
    "Every variant of the families (default all) against the float64 oracle and against the properties that the "
    "family\n"
    "promises. Without a GPU the CUDA variants' recorded outputs are compared with the CPU oracle.\n\n"
    "  --variant NAME   only this variant\n"
    "  --backend cpu|cuda  only its variants\n"
    "  --plugin FILE    a shared library with variants of yours (kernels/base/plugin.h), which join their families\n"
    "  --junit FILE     write JUnit XML: a case a check, its time, what was skipped and why, the host\n"
    "  --golden DIR     recorded GPU outputs (default tests/golden of the project)\n"
    "  --record DIR     write the CUDA variants' outputs there, as new recordings, and set their limits\n"
    "  --largest N      leave out sets of more than N points, grids of more than 1000 N, and most steps of\n"
    "                   long flows and iterations (for tools under which they would take minutes)\n"
    "  --strict         fail where recorded outputs are of other code than today's; else they count as skipped\n"
    "  --require cuda   fail where no GPU executes the CUDA variants: no device, a broken driver, emulation\n"
    "  --seal           set the limits of recordings to twice what the CPU's oracle differs from them now\n"
    "  --verbose        list passed checks too, with values and limits\n\n"
    "exit codes: 0 all passed, 2 usage, 3 a check failed, 8 the JUnit file cannot be written, 9 nothing ran\n";

static int checked(const char *name) {
  const char *names[32];
  int n = 0;
  for (const rb_family *f; n < 32 && (f = rb_check_family(n)); n++) {
    if (strcmp(f->name, name) == 0) return 1;
    names[n] = f->name;
  }
  const char *near = rb_nearest(name, names, n);
  RB_FAIL(RB_ENOTFOUND, "nothing to check is named '%s'%s%s", name, near ? "; the nearest is " : "",
          near ? near : "");
  return 0;
}

/* As rb_write_atomically will. A pipe is not opened: its reader would take the close for the end. */
static int can_write(const char *path) {
  rb_whole_file w;
  if (rb_whole_file_name(&w, path) != RB_OK) return 0;
  if (strcmp(w.partial, w.path) == 0) return access(path, W_OK) == 0;
  if (rb_whole_file_open(&w, path) != RB_OK) return 0;
  rb_whole_file_end(&w, RB_EINTERRUPTED); /* nothing was written: the old file stays */
  return 1;
}

/* Whether a GPU executes the CUDA variants; tells what is there instead. */
static int is_gpu_present(void) {
  const rb_backend *b;
  if (strcmp(rb_check_cuda_execution(), "gpu") == 0) return 1;
  if (rb_backend_get(RB_CUDA, &b) == RB_OK) RB_FAIL(RB_EDEVICE, "the CUDA variants of this build are emulated");
  fprintf(stderr, "regbench check: --require cuda: %s\n", rb_message());
  return 0;
}

static int check(const rb_check_options *o) {
  rb_check_counts n;
  const rb_status st = rb_check_run(o, &n);
  printf("%d passed, %d failed, %d skipped\n", n.passed, n.failed, n.skipped);
  if (st != RB_OK) {
    fprintf(stderr, "regbench check: %s\n", rb_message());
    return RB_EXIT_INCOMPLETE;
  }
  return n.failed ? RB_EXIT_INVALID : n.passed ? RB_EXIT_OK : RB_EXIT_NOTHING;
}

/* Whether any family has a variant of the name; else the message says which is nearest. */
static int is_variant(const char *name) {
  const char *names[256];
  int count = 0;
  for (int i = 0; rb_check_family(i); i++)
    for (int k = 0; k < rb_check_family(i)->count && count < 256; k++) {
      names[count++] = rb_check_family(i)->variants[k].name;
      if (strcmp(names[count - 1], name) == 0) return 1;
    }
  const char *near = rb_nearest(name, names, count);
  RB_FAIL(RB_ENOTFOUND, "no variant '%s'%s%s", name, near ? "; the nearest is " : "", near ? near : "");
  return 0;
}

/* Where recordings lie, and where new ones go, which is made; else the message says what is wrong. Told now, not
 * after minutes. */
static int are_folders(const rb_check_options *o) {
  const char *folders[] = {o->golden, o->record};
  struct stat info;
  if (o->record && mkdir(o->record, 0777) != 0 && errno != EEXIST) {
    RB_FAIL(RB_EIO, "cannot make %s: %s", o->record, strerror(errno));
    return 0;
  }
  for (int i = 0; i < 2; i++)
    if (folders[i] && (stat(folders[i], &info) != 0 || !S_ISDIR(info.st_mode))) {
      RB_FAIL(RB_ENOTFOUND, "no folder '%s'", folders[i]);
      return 0;
    }
  return 1;
}

int rb_cmd_check(int argc, char **argv) {
  rb_check_options o = {.out = stdout};
  const char *value, *home, *largest = NULL, *require = NULL;
  char golden[4200] = "", *end;
  if (rb_wants_help(argc, argv, check_help)) return RB_EXIT_OK;
  if (rb_project_root(&home) == RB_OK) snprintf(golden, sizeof golden, "%s/tests/golden", home);
  rb_clear();
  o.golden = golden[0] ? golden : NULL;
  for (int i = 0; i < argc; i++) {
    if ((value = rb_option(argc, argv, &i, "--variant")))
      o.variant = value;
    else if ((value = rb_option(argc, argv, &i, "--junit")))
      o.junit = value;
    else if ((value = rb_option(argc, argv, &i, "--golden")))
      o.golden = value;
    else if ((value = rb_option(argc, argv, &i, "--record")))
      o.record = value;
    else if ((value = rb_option(argc, argv, &i, "--largest")))
      largest = value;
    else if ((value = rb_option(argc, argv, &i, "--require")))
      require = value;
    else if ((value = rb_option(argc, argv, &i, "--backend")))
      o.backend = value;
    else if (strcmp(argv[i], "--verbose") == 0)
      o.verbose = 1;
    else if (strcmp(argv[i], "--strict") == 0)
      o.strict = 1;
    else if (strcmp(argv[i], "--seal") == 0)
      o.seal = 1;
    else if (argv[i][0] == '-')
      return rb_usage("check", "unknown option '%s'", argv[i]);
    else if (!checked(argv[i]))
      return rb_usage("check", "%s", rb_message());
    else if (o.families == (int)(sizeof o.family / sizeof *o.family))
      return rb_usage("check", "more than %d families", o.families);
    else
      o.family[o.families++] = argv[i];
    if (value && !*value) return rb_usage("check", "%s needs a value", argv[i]);
  }
  if (largest) o.largest = strtoll(largest, &end, 10);
  if (largest && (*end || o.largest < 1))
    return rb_usage("check", "--largest '%s' is not a whole number above 0", largest);
  if (o.backend && strcmp(o.backend, "cpu") != 0 && strcmp(o.backend, "cuda") != 0)
    return rb_usage("check", "unknown backend '%s'; cpu or cuda", o.backend);
  if (require && strcmp(require, "cuda") != 0)
    return rb_usage("check", "--require '%s'; cuda can be required", require);
  if (o.record && rb_cuda_is_emulated())
    return rb_usage("check",
                    "--record: the CUDA variants of this build are emulated; recordings are of a GPU's own outputs");
  if (!are_folders(&o)) return rb_usage("check", "%s", rb_message());
  if (o.junit && !can_write(o.junit)) {
    fprintf(stderr, "regbench check: cannot write %s: %s\n", o.junit, strerror(errno));
    return RB_EXIT_INCOMPLETE;
  }
  if (o.variant && !is_variant(o.variant)) return rb_usage("check", "%s", rb_message());
  return require && !is_gpu_present() ? RB_EXIT_INVALID : check(&o);
}
