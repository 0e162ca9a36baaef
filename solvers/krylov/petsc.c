/* SPDX-License-Identifier: BSD-3-Clause */
/* Starting PETSc, and errors across its border. */
#include "solvers/krylov/krylov.h"

#include <stdlib.h>

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

rb_status rb_krylov_options(const char *options) {
  rb_status st = RB_OK;
  RB_TRY(rb_krylov_open());
  if (options) RB_PETSC(PetscOptionsInsertString(NULL, options));
done:
  return st;
}

void rb_krylov_close(void) {
  if (opened) PetscFinalize();
  opened = 0;
}

MPI_Comm rb_krylov_communicator(void) { return PETSC_COMM_SELF; }

PetscErrorCode rb_petsc_code(rb_status st) {
  if (st == RB_OK) return 0;
  if (remembered == RB_OK) remembered = st;
  return PETSC_ERR_USER;
}

rb_status rb_petsc_failure(PetscErrorCode code, const char *call, const char *file, int line) {
  rb_status st = remembered == RB_OK ? RB_EINVALID : remembered;
  remembered = RB_OK;
  return rb_fail(st, file, line, "%s: PETSc error %d", call, (int)code); /* the first message wins */
}
