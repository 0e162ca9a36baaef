/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums over a team by NCCL. Its library is opened at run time: most hosts have none, and one GPU needs none. Types
 * and numbers are those of NCCL's manual (API, version 2). */
#include "kernels/base/device_info.h"
#include "kernels/base/device_team.h"
#include "kernels/cuda/cuda.cuh"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NCCL_SUCCESS = 0, NCCL_SUM = 0, NCCL_INT32 = 2, NCCL_ID_BYTES = 128, NAME_BYTES = 192 };

/* How the members of a communicator find each other; made by one, given to all. */
typedef struct {
  char bytes[NCCL_ID_BYTES];
} nccl_id;
typedef struct nccl_comm *nccl_comm_t;

/* Functions of the library; `sum` is NULL until all were found. */
typedef struct {
  int (*new_id)(nccl_id *id);
  int (*init)(nccl_comm_t *out, int members, nccl_id id, int rank);
  int (*destroy)(nccl_comm_t comm);
  const char *(*explain)(int code);
  int (*sum)(const void *in, void *out, size_t n, int type, int operation, nccl_comm_t comm, cudaStream_t stream);
} nccl_library;

struct rb_device_team {
  nccl_comm_t comm;
};

/* Opened once in a process. */
static nccl_library nccl;

#define NCCL_TRY(call)                                                                          \
  do {                                                                                          \
    const int code_ = (call);                                                                   \
    if (code_ != NCCL_SUCCESS) {                                                                \
      st = RB_FAIL(RB_EDEVICE, "NCCL: %s (set NCCL_DEBUG=WARN for more)", nccl.explain(code_)); \
      goto done;                                                                                \
    }                                                                                           \
  } while (0)

static rb_status open_library(void) {
  const char *asked = getenv("REGBENCH_NCCL"), *name = asked && *asked ? asked : "libnccl.so.2";
  if (nccl.sum) return RB_OK;
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return RB_FAIL(RB_EUNSUPPORTED, "NCCL cannot be opened (%s); install it, or name the file in REGBENCH_NCCL",
                   dlerror());
  nccl.new_id = (decltype(nccl.new_id))dlsym(library, "ncclGetUniqueId");
  nccl.init = (decltype(nccl.init))dlsym(library, "ncclCommInitRank");
  nccl.destroy = (decltype(nccl.destroy))dlsym(library, "ncclCommDestroy");
  nccl.explain = (decltype(nccl.explain))dlsym(library, "ncclGetErrorString");
  if (nccl.new_id && nccl.init && nccl.destroy && nccl.explain)
    nccl.sum = (decltype(nccl.sum))dlsym(library, "ncclAllReduce"); /* last: its presence stands for all */
  return nccl.sum ? RB_OK : RB_FAIL(RB_EUNSUPPORTED, "%s lacks functions of NCCL 2", name);
}

/* Names the device of this member among all machines; an emulated one is its process's own. */
static rb_status name_device(char out[NAME_BYTES]) {
  rb_status st = RB_OK;
  const rb_backend *backend;
  char host[96] = "", bus[64] = "";
  memset(out, 0, NAME_BYTES);
  RB_TRY(rb_cuda_backend(&backend));
  gethostname(host, sizeof host - 1);
  if (backend->emulated)
    snprintf(bus, sizeof bus, "process %ld", (long)getpid());
  else
    RB_TRY(rb_device_bus(bus, sizeof bus));
  snprintf(out, NAME_BYTES, "%s %s", host, bus);
done:
  return st;
}

/* What rank 0 finds and all hear. */
typedef struct {
  int first, second; /* members that share a device; both 0: none do */
  int code;          /* NCCL's, of the id */
  nccl_id id;
} agreement;

static void close_team(rb_device_team *d) {
  if (!d) return;
  if (d->comm) nccl.destroy(d->comm);
  free(d);
}

static rb_status open_team(const rb_team *team, rb_device_team **out) {
  static char names[RB_TEAM_MOST][NAME_BYTES]; /* no allocation that could fail on one member alone */
  rb_status st = RB_OK;
  char mine[NAME_BYTES];
  agreement all = {};
  rb_device_team *d = NULL;
  *out = NULL;
  st = open_library();
  if (st == RB_OK) st = name_device(mine);
  RB_TRY(rb_team_agree(team, st));
  RB_TRY(rb_team_gather(team, mine, sizeof mine, names));
  if (team->rank == 0) {
    for (int k = 1; k < team->size && !all.second; k++)
      for (int j = 0; j < k; j++)
        if (strcmp(names[j], names[k]) == 0) all.first = j, all.second = k;
    if (!all.second) all.code = nccl.new_id(&all.id);
  }
  RB_TRY(rb_team_broadcast(team, &all, sizeof all, 0));
  /* the same answer on all members: they fail together, or all enter `init`, which waits for all */
  RB_CHECK(!all.second, RB_EUNSUPPORTED, "processes %d and %d share a device; NCCL wants one each", all.first,
           all.second);
  NCCL_TRY(all.code);
  d = (rb_device_team *)calloc(1, sizeof *d);
  RB_TRY(rb_team_agree(team, d ? RB_OK : RB_FAIL(RB_ENOMEM, "host memory")));
  NCCL_TRY(nccl.init(&d->comm, team->size, all.id, team->rank));
done:
  st = rb_team_agree(team, st); /* `init` may have failed for some only */
  if (st == RB_OK)
    *out = d;
  else
    close_team(d);
  return st;
}

static rb_status sum_whole(rb_device_team *d, int32_t *values, int64_t n) {
  rb_status st = RB_OK;
  NCCL_TRY(nccl.sum(values, values, (size_t)n, NCCL_INT32, NCCL_SUM, d->comm, rb_cuda_stream()));
done:
  return st;
}

extern "C" const rb_device_team_ops rb_device_team_nccl = {open_team, sum_whole, close_team};
