/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/base/process.h"

#include "kernels/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The child's side: never returns. */
static void become(const rb_process *how, char *const arguments[], pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* it must not outlive this program */
  if (getppid() != parent) _exit(RB_PROCESS_ABSENT);
  const int nothing = open("/dev/null", O_RDONLY);
  if (nothing < 0 || dup2(nothing, 0) < 0) _exit(RB_PROCESS_ABSENT);
  if (how->output) {
    const int to = open(how->output, O_CREAT | O_APPEND | O_WRONLY, 0666);
    if (to < 0 || dup2(to, 1) < 0 || dup2(to, 2) < 0) _exit(RB_PROCESS_ABSENT);
  }
  if (how->folder && chdir(how->folder) != 0) _exit(RB_PROCESS_ABSENT);
  execvp(arguments[0], arguments);
  _exit(RB_PROCESS_ABSENT);
}

/* Kills the group and takes the child's exit status, so that no zombie stays. */
static void end(pid_t child, int *status) {
  kill(-child, SIGKILL);
  while (waitpid(child, status, 0) < 0 && errno == EINTR) {
  }
}

/* Polling, not waiting, is what lets the flag and the clock be seen. */
rb_status rb_process_run(const rb_process *how, char *const arguments[], int *code) {
  static const double GRACE = 5; /* seconds from SIGTERM to SIGKILL */
  rb_status st = RB_OK;
  int status = 0;
  double asked = 0; /* when it was asked to end; 0: it was not */
  const double start = rb_now();
  const pid_t parent = getpid(), child = fork();
  RB_CHECK(child >= 0, RB_EIO, "cannot start %s: %s", arguments[0], strerror(errno));
  if (child == 0) become(how, arguments, parent);
  setpgid(child, child); /* both sides: whichever comes first */
  for (pid_t ended; (ended = waitpid(child, &status, WNOHANG)) != child;) {
    RB_CHECK(ended == 0 || errno == EINTR, RB_EIO, "lost %s: %s", arguments[0], strerror(errno));
    if (how->interrupted && *how->interrupted && asked == 0) {
      asked = rb_now();
      kill(-child, SIGTERM);
    }
    if (asked > 0 && rb_now() - asked > GRACE) {
      end(child, &status);
      break;
    }
    if (how->seconds && asked == 0 && rb_now() - start > how->seconds) {
      end(child, &status);
      return RB_FAIL(RB_EIO, "%s did not end within %d s", arguments[0], how->seconds);
    }
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
  }
  RB_CHECK(!(how->interrupted && *how->interrupted), RB_EINTERRUPTED, "interrupted");
  *code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
done:
  return st;
}
