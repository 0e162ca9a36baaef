/* SPDX-License-Identifier: BSD-3-Clause */
/* A stand-in for NCCL where devices are executed on the CPU: processes of one machine add whole numbers through a
 * piece of shared memory that is named by the communicator's id. Just the functions that kernels/cuda/team_nccl.cu
 * asks for, as NCCL's manual (version 2) describes them. A device's memory is its process's here, and work is done at
 * once. */
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SUCCESS = 0, SYSTEM_ERROR = 2, INVALID_ARGUMENT = 4, INT32 = 2, SUM = 0, PIECE = 1 << 14, MOST = 16 };

typedef struct {
  char bytes[128];
} ncclUniqueId;
typedef struct {
  atomic_int waiting, turn;
  int32_t values[MOST][PIECE];
} shared_t;
typedef struct ncclComm {
  shared_t *shared;
  int members, rank;
  struct addition *additions; /* all that were asked for: a graph may come back to one */
} * ncclComm_t;

typedef struct addition {
  ncclComm_t comm;
  const int32_t *in;
  int32_t *out;
  size_t n;
  struct addition *next;
} addition;

/* Zeroed memory begins a barrier of its own: the last to come lets the others go. */
static void meet(ncclComm_t c) {
  const int turn = atomic_load(&c->shared->turn);
  if (atomic_fetch_add(&c->shared->waiting, 1) == c->members - 1) {
    atomic_store(&c->shared->waiting, 0);
    atomic_fetch_add(&c->shared->turn, 1);
  } else {
    while (atomic_load(&c->shared->turn) == turn) sched_yield();
  }
}

int ncclGetUniqueId(ncclUniqueId *id) {
  static int made;
  memset(id, 0, sizeof *id);
  snprintf(id->bytes, sizeof id->bytes, "/nccl_stand_in_%ld_%d", (long)getpid(), made++);
  return SUCCESS;
}
const char *ncclGetErrorString(int code) { return code == INVALID_ARGUMENT ? "invalid argument" : "system error"; }

int ncclCommInitRank(ncclComm_t *out, int members, ncclUniqueId id, int rank) {
  if (members < 1 || members > MOST || rank < 0 || rank >= members) return INVALID_ARGUMENT;
  const int file = shm_open(id.bytes, O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, sizeof(shared_t)) != 0) return SYSTEM_ERROR;
  ncclComm_t c = calloc(1, sizeof *c);
  void *at = mmap(NULL, sizeof(shared_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (!c || at == MAP_FAILED) return SYSTEM_ERROR;
  c->shared = at, c->members = members, c->rank = rank;
  meet(c); /* all have it open: the name may go */
  if (rank == 0) shm_unlink(id.bytes);
  *out = c;
  return SUCCESS;
}
int ncclCommDestroy(ncclComm_t c) {
  while (c->additions) {
    addition *next = c->additions->next;
    free(c->additions);
    c->additions = next;
  }
  munmap(c->shared, sizeof(shared_t));
  free(c);
  return SUCCESS;
}

/* Of the program: runs f(context) when the stream comes to it. */
extern int cudaLaunchHostFunc(void *stream, void (*f)(void *), void *context);

static void add(void *context) {
  const addition a = *(addition *)context;
  const ncclComm_t c = a.comm;
  for (size_t at = 0; at < a.n; at += PIECE) {
    const size_t count = a.n - at < PIECE ? a.n - at : PIECE;
    memcpy(c->shared->values[c->rank], a.in + at, count * sizeof *a.in);
    meet(c);
    for (size_t i = 0; i < count; i++) {
      int32_t sum = 0;
      for (int k = 0; k < c->members; k++) sum += c->shared->values[k][i];
      a.out[at + i] = sum;
    }
    meet(c); /* all have read it */
  }
}

int ncclAllReduce(const void *in, void *out, size_t n, int type, int operation, ncclComm_t c, void *stream) {
  if (type != INT32 || operation != SUM) return INVALID_ARGUMENT;
  addition *a = malloc(sizeof *a);
  if (!a) return SYSTEM_ERROR;
  *a = (addition){c, in, out, n, c->additions};
  c->additions = a;
  return cudaLaunchHostFunc(stream, add, a) == 0 ? SUCCESS : SYSTEM_ERROR;
}
