/* SPDX-License-Identifier: BSD-3-Clause */
/* Teams of MPI processes, on host memory. */
#include "kernels/base/team.h"

#include <mpi.h>

/* started: 0 before MPI runs, 1 where this program began it, 2 where it ran already. size: of the one team there
 * is. */
static int started, size;

/* MPI counts in int: longer arrays go in pieces. */
enum { PIECE = 1 << 26 };

/* MPI's code as a status, with the name of the function that failed. */
static rb_status of_mpi(int code, const char *what) {
  return code == MPI_SUCCESS ? RB_OK : RB_FAIL(RB_EIO, "MPI: %s failed with code %d", what, code);
}

/* In the order of ranks, whatever algorithm MPI would choose for a sum of its own. No allocation that could fail on
 * one member alone. */
static rb_status sum(double *values, int64_t n) {
  /* room for pieces of at least eight values of every member */
  enum { ROOM = 8 * RB_TEAM_MOST };
  static double all[ROOM];
  rb_status st = RB_OK;
  /* `all` is [size][count]: the values of member k begin at k * count */
  const int64_t most = ROOM / size;
  for (int64_t at = 0; at < n; at += most) {
    const int count = (int)(n - at < most ? n - at : most);
    double *piece = values + at;
    RB_TRY(of_mpi(MPI_Allgather(piece, count, MPI_DOUBLE, all, count, MPI_DOUBLE, MPI_COMM_WORLD), "Allgather"));
    for (int i = 0; i < count; i++) {
      piece[i] = 0;
      /* 0 + rank 0 + rank 1 + ..: every member adds the same numbers in the same order and gets the same bits */
      for (int k = 0; k < size; k++) piece[i] += all[k * count + i];
    }
  }
done:
  return st;
}

/* Whole numbers add up to the same in any order. */
static rb_status sum_whole(int32_t *values, int64_t n) {
  rb_status st = RB_OK;
  for (int64_t at = 0; at < n; at += PIECE) {
    const int count = n - at < PIECE ? (int)(n - at) : PIECE;
    RB_TRY(
        of_mpi(MPI_Allreduce(MPI_IN_PLACE, values + at, count, MPI_INT32_T, MPI_SUM, MPI_COMM_WORLD), "Allreduce"));
  }
done:
  return st;
}

static rb_status broadcast(void *data, size_t bytes, int root) {
  rb_status st = RB_OK;
  /* all members have the same `bytes`: they make the same number of calls */
  for (size_t at = 0; at < bytes; at += PIECE) {
    const int count = bytes - at < PIECE ? (int)(bytes - at) : PIECE;
    RB_TRY(of_mpi(MPI_Bcast((char *)data + at, count, MPI_BYTE, root, MPI_COMM_WORLD), "Bcast"));
  }
done:
  return st;
}

/* to rank 0 only; the others' `all` is not used */
static rb_status gather(const void *mine, size_t bytes, void *all) {
  /* one call, as `all` is [size][bytes] */
  if (bytes > (size_t)PIECE) return RB_FAIL(RB_EINVAL, "a team gathers at most %d bytes a member", PIECE);
  return of_mpi(MPI_Gather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, 0, MPI_COMM_WORLD), "Gather");
}

static rb_status barrier(void) { return of_mpi(MPI_Barrier(MPI_COMM_WORLD), "Barrier"); }

rb_status rb_team_mpi(const rb_team **out) {
  static rb_team team;
  rb_status st = RB_OK;
  int running, rank;
  if (!started) {
    RB_TRY(of_mpi(MPI_Initialized(&running), "Initialized"));
    int threads;
    /* FUNNELED: only the main thread calls MPI */
    if (!running) RB_TRY(of_mpi(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &threads), "Init_thread"));
    /* errors come back as codes, instead of ending the program */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    started = 1 + running; /* ended by who began */
  }
  RB_TRY(of_mpi(MPI_Comm_size(MPI_COMM_WORLD, &size), "Comm_size"));
  RB_TRY(of_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "Comm_rank"));
  RB_CHECK(
      size == rb_team_processes(), RB_EUNSUPPORTED,
      "the launcher started %d processes and MPI sees %d: use the mpirun of the MPI that this program is linked with",
      rb_team_processes(), size);
  RB_CHECK(size <= RB_TEAM_MOST, RB_EUNSUPPORTED, "%d processes; a team has at most %d", size, RB_TEAM_MOST);
  team = (rb_team){"mpi-host", rank, size, sum, sum_whole, broadcast, gather, barrier};
  *out = &team;
done:
  return st;
}

/* MPI cannot be started again after this. */
void rb_team_mpi_end(void) {
  if (started == 1) MPI_Finalize();
  started = 0;
}
