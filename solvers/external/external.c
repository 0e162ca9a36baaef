#include "solvers/external/external.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char plastimatch[] = "plastimatch"; /* ops of the variant: the program's name */
static const rb_variant variants[] = {
    {"plastimatch-log-demons", "ITK", "ITK's log-domain demons as packaged in plastimatch, all cores", RB_CPU, plastimatch},
};
const rb_family rb_external_family = {
    .name = "external",
    .what = "programs of others, as baselines",
    .variants = variants,
    .count = sizeof variants / sizeof *variants,
};

rb_external_options rb_external_defaults(void) { return (rb_external_options){.iterations = 75, .sigma_fluid = 3, .sigma_diffusion = 2}; }

/* The last line that the program said. */
static void last_line(const char *log, char *out, size_t size) {
  char line[512];
  FILE *f = fopen(log, "r");
  snprintf(out, size, "it said nothing");
  while (f && fgets(line, sizeof line, f)) {
    line[strcspn(line, "\n")] = '\0';
    if (line[0]) snprintf(out, size, "it said: %.200s", line);
  }
  if (f) fclose(f);
}

/* Run to the end with its output appended to FOLDER/log.txt. */
static rb_status run(const char *folder, char *const arguments[], const volatile int *interrupted) {
  rb_status st = RB_OK;
  char log[4096], said[256];
  int code = 0;
  RB_CHECK(snprintf(log, sizeof log, "%s/log.txt", folder) < (int)sizeof log, RB_EINVAL, "path too long");
  pid_t child = fork();
  RB_CHECK(child >= 0, RB_EIO, "cannot start %s: %s", arguments[0], strerror(errno));
  if (child == 0) {
    const int to = open(log, O_CREAT | O_APPEND | O_WRONLY, 0666), nothing = open("/dev/null", O_RDONLY);
    if (to < 0 || nothing < 0 || dup2(nothing, 0) < 0 || dup2(to, 1) < 0 || dup2(to, 2) < 0) _exit(127);
    execvp(arguments[0], arguments);
    _exit(127);
  }
  for (pid_t ended; (ended = waitpid(child, &code, WNOHANG)) != child;) {
    if (ended == 0) {
      if (interrupted && *interrupted) kill(child, SIGTERM);
      nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
      continue;
    }
    RB_CHECK(errno == EINTR, RB_EIO, "lost %s: %s", arguments[0], strerror(errno));
  }
  RB_CHECK(!(WIFSIGNALED(code) && (WTERMSIG(code) == SIGINT || WTERMSIG(code) == SIGTERM)), RB_EINTERRUPTED, "interrupted");
  last_line(log, said, sizeof said);
  RB_CHECK(WIFEXITED(code) && WEXITSTATUS(code) == 0, RB_EIO, "%s %s failed (exit %d); %s", arguments[0], arguments[1], WIFEXITED(code) ? WEXITSTATUS(code) : -1, said);
done:
  return st;
}

rb_status rb_external_version(const rb_variant *variant, char *out, size_t size) {
  rb_status st = RB_OK;
  char command[128];
  FILE *f = NULL;
  snprintf(command, sizeof command, "%s --version 2>/dev/null", (const char *)variant->ops);
  f = popen(command, "r");
  RB_CHECK(f, RB_EIO, "cannot start a shell: %s", strerror(errno));
  RB_CHECK(fgets(out, (int)size, f), RB_EUNSUPPORTED, "%s is not installed (Debian: apt-get install %s)", (const char *)variant->ops, (const char *)variant->ops);
  out[strcspn(out, "\n")] = '\0';
done:
  if (f) pclose(f);
  return st;
}

static rb_status write_commands(const rb_external_options *o, const char *folder, const char *path) {
  rb_status st = RB_OK;
  FILE *f = fopen(path, "w");
  RB_CHECK(f, RB_EIO, "cannot write %s: %s", path, strerror(errno));
  fprintf(f, "[GLOBAL]\nfixed=%s/reference.nii.gz\nmoving=%s/template.nii.gz\nimg_out=%s/warped.nii.gz\nvf_out=%s/field.nii.gz\nimg_out_type=float\n", folder, folder, folder, folder);
  fprintf(f, "[STAGE]\nxform=vf\nimpl=itk\noptim=demons\noptim_subtype=log_domain\nmax_its=%d\nres=1 1 1\nhisto_equ=0\n", o->iterations);
  fprintf(f, "demons_smooth_update_field=1\ndemons_std_update_field=%g\ndemons_smooth_deformation_field=1\ndemons_std_deformation_field=%g\n", o->sigma_fluid, o->sigma_diffusion);
  RB_CHECK(fflush(f) == 0 && !ferror(f), RB_EIO, "cannot write %s: %s", path, strerror(errno));
done:
  if (f) fclose(f);
  return st;
}

rb_status rb_external_register(const rb_variant *variant, const rb_external_options *o, const char *folder) {
  rb_status st = RB_OK;
  char commands[4096];
  char *arguments[] = {(char *)(uintptr_t)variant->ops, "register", commands, NULL};
  RB_CHECK(strlen(folder) < 4000, RB_EINVAL, "path too long");
  snprintf(commands, sizeof commands, "%.4000s/commands.txt", folder);
  RB_TRY(write_commands(o, folder, commands));
  RB_TRY(run(folder, arguments, o->interrupted));
done:
  return st;
}

rb_status rb_external_results(const rb_variant *variant, const char *folder) {
  rb_status st = RB_OK;
  char field[4096], det[4200], labels[4096], moved[4200], *program = (char *)(uintptr_t)variant->ops;
  char *jacobian[] = {program, "jacobian", "--input", field, det, NULL};
  char *warp[] = {program, "warp", "--input", labels, "--xf", field, "--interpolation", "nn", moved, NULL};
  RB_CHECK(strlen(folder) < 4000, RB_EINVAL, "path too long");
  snprintf(field, sizeof field, "%.4000s/field.nii.gz", folder);
  snprintf(det, sizeof det, "--output-img=%.4000s/determinant.nii.gz", folder);
  snprintf(labels, sizeof labels, "%.4000s/labels.nii.gz", folder);
  snprintf(moved, sizeof moved, "--output-img=%.4000s/warped_labels.nii.gz", folder);
  RB_TRY(run(folder, jacobian, NULL));
  if (access(labels, R_OK) == 0) RB_TRY(run(folder, warp, NULL));
done:
  return st;
}
