/* SPDX-License-Identifier: BSD-3-Clause */
/* Starting PETSc, and errors across its border. */
#include "solvers/krylov/krylov.h"

#include <stdlib.h>

/* opened: whether PETSc runs. remembered: the status of our own callback that failed inside PETSc, until the call
 * that was made into PETSc returns and rb_petsc_failure takes it. One of each a process: PETSc is used by one
 * thread. */
static int opened;
static rb_status remembered = RB_OK;

/* PETSc's own handler prints a trace; ours keeps the first message as the pending failure. */
static PetscErrorCode keep_message(MPI_Comm comm, int line, const char *function, const char *file,
                                   PetscErrorCode code, PetscErrorType type, const char *message, void *context) {
  (void)comm, (void)function, (void)context;
  if (type == PETSC_ERROR_INITIAL && remembered == RB_OK)
    rb_fail(RB_EINVALID, file, line, "PETSc: %s", message ? message : "unknown error");
  return code;
}

/* Later calls do nothing. Signals stay the program's own, so that an interruption can end a solve in order; files
 * with PETSc's options in the user's home are not read. */
rb_status rb_krylov_open(void) {
  rb_status st = RB_OK;
  if (opened) return RB_OK;
  /* Open MPI: one process needs neither a daemon beside it nor a folder in TMPDIR, and both fail with 50 lines where
   * they cannot be had. Other MPIs ignore these. */
  setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
  setenv("OMPI_MCA_orte_create_session_dirs", "0", 0);
  RB_PETSC(PetscOptionsSetValue(NULL, "-no_signal_handler", "true"));
  RB_PETSC(PetscOptionsSetValue(NULL, "-skip_petscrc", "true"));
  RB_PETSC(PetscInitializeNoArguments());
  RB_PETSC(PetscPushErrorHandler(keep_message, NULL));
  opened = 1;
done:
  return st;
}

/* Into PETSc's one list of options: a later value of the same name replaces the earlier one, and what was set stays
 * for solvers that are created later. */
rb_status rb_krylov_options(const char *options) {
  rb_status st = RB_OK;
  RB_TRY(rb_krylov_open());
  if (options) RB_PETSC(PetscOptionsInsertString(NULL, options));
done:
  return st;
}

/* At the end of the program. Objects of PETSc must be gone by then. */
void rb_krylov_close(void) {
  if (opened) PetscFinalize();
  opened = 0;
}

MPI_Comm rb_krylov_communicator(void) { return PETSC_COMM_SELF; }

/* The first failure is kept: what follows from it on PETSc's way out must not hide it. */
PetscErrorCode rb_petsc_code(rb_status st) {
  if (st == RB_OK) return 0;
  if (remembered == RB_OK) remembered = st;
  return PETSC_ERR_USER;
}

/* Clears what was remembered, so that the next call starts without it. */
rb_status rb_petsc_failure(PetscErrorCode code, const char *call, const char *file, int line) {
  rb_status st = remembered == RB_OK ? RB_EINVALID : remembered;
  remembered = RB_OK;
  return rb_fail(st, file, line, "%s: PETSc error %d", call, (int)code); /* the first message wins */
}
