/* SPDX-License-Identifier: BSD-3-Clause */
/* What the emulator's own files share. */
#ifndef EMULATED_INTERNAL_H
#define EMULATED_INTERNAL_H

#include "emulated/runtime.h"

#include <deque>
#include <map>
#include <string>
#include <vector>

namespace emulated {

/* ---- device.cpp --------------------------------------------------------------------------------------------- */

struct device {
  const char *name;
  int arch, processors;
  size_t shared_optin, shared_processor, l2, memory;
};
/* That of EMULATED_ARCH, with EMULATOR_PROCESSORS and EMULATOR_SHARED of the environment. */
const device &this_device();
enum { MOST_THREADS = 1024, SHARED_WITHOUT_ASKING = 48 << 10 };

/* ---- report.cpp: what is told, and what becomes of a run after an error -------------------------------------------
 */

/* One line on stderr: "emulator: TEXT". */
void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* "FILE:LINE" of a place in the machine code, by addr2line; "?" where it is not known. */
std::string source_of(const void *pc);
const char *base_name(const char *path);
/* Errors of kernels stay: every later call returns them, as on a GPU. */
extern cudaError_t sticky, last_error;
cudaError_t fail_call(cudaError_t e, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- random.cpp ----------------------------------------------------------------------------------------------- */

/* EMULATOR_SEED, or one of the day; 0: everything in order. Told once on stderr when it is used. */
uint64_t seed();
/* Below n; 0 with seed 0. */
uint32_t draw(uint32_t n);

/* ---- fiber.cpp ------------------------------------------------------------------------------------------------ */

struct fiber;
/* A fiber that will run entry() from its start. Its stack is one that nobody uses. */
fiber *fiber_take(void (*entry)());
/* It may be taken again; not before it has been switched away from for the last time. */
void fiber_give_back(fiber *f);
/* From the fiber that runs to another; null: the host's own stack. `for_good`: nobody will switch back. */
void fiber_switch(fiber *to, bool for_good);
fiber *fiber_now();
/* Ends the program if a stack that was used since the last call has grown beyond its end. */
void fibers_checked();
void fiber_stack(const fiber *f, const char **low, const char **high);

/* ---- shared.cpp ------------------------------------------------------------------------------------------------ */

struct variable {
  char *start;
  size_t bytes;
  std::string name; /* mangled */
  int file;         /* number of its object file */
};
/* Static shared variables of the program: function-local statics of functions with internal linkage, uninitialised.
 */
const std::vector<variable> &shared_variables();
/* Those that a kernel may use: its own, and those of device functions. Valid until the next call. */
const std::vector<variable> &shared_of(const void *kernel);
/* Bytes of its own ones. */
size_t static_shared_of(const void *kernel);
std::string symbol_of(const void *function);

/* ---- memory.cpp ------------------------------------------------------------------------------------------------ */

enum class place_of : int { device, pinned, registered, elsewhere };
struct allocation {
  char *start;
  size_t bytes;
  place_of where;
};
/* The allocation that holds address p, or null. */
const allocation *allocation_at(const void *p);
size_t device_memory_live();
bool allocation_fails(); /* where a test has set emulator_allocation_fails */

/* ---- execute.cpp ------------------------------------------------------------------------------------------------
 */

struct launch_request {
  const char *name;
  const void *kernel;
  dim3 grid, block;
  size_t shared;
  bool cooperative;
  call body;
};
void execute(const launch_request &r);
/* A kernel does something that no kernel may: told with block and thread; the launch ends. */
[[noreturn]] void fault(place at, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool in_kernel();
/* Kernels that ran, blocks, threads. */
struct totals {
  uint64_t launches, blocks, threads;
};
const totals &executed();

struct pending_copy {
  char *to;
  const char *from;
  size_t bytes, from_bytes;
  const void *pc;
};
enum class state : char { fresh, ready, waiting, polling, done };
struct lane_slot {
  bool waiting;
  lanes what;
  unsigned mask;
  uint64_t bits;
  int parameter, width;
  bool is_signed;
  place at;
};
struct block_state;
struct thread_state {
  uint3 index;
  int linear;
  state now;
  fiber *on;
  bool at_barrier;
  place at;                                      /* where it waits */
  int result;                                    /* of a barrier */
  lane_slot slot;                                /* of a warp function; bits: its result when it goes on */
  std::vector<pending_copy> copies;              /* not yet committed */
  std::vector<std::vector<pending_copy>> groups; /* committed, not yet waited for; the oldest first */
  unsigned warp_stamp;                           /* watch.cpp */
};
struct block_state {
  std::vector<int> ready; /* threads that can go on */
  int listed;             /* among the blocks that have such threads: where; -1: not */
  uint3 index;
  int number; /* of the launch */
  std::vector<thread_state> threads;
  int alive, arrived, tally;
  thread_state *first_at_barrier;
  std::vector<unsigned> lanes_alive,
      lanes_waiting; /* of each warp: bits of lanes that have not ended, and that wait in a warp function */
  char *dynamic;
  std::vector<char> kept_static;              /* of a cooperative block that does not run now */
  unsigned barriers;                          /* passed so far */
  std::vector<unsigned> warp_clock, warp_met; /* watch.cpp: of warps; [warp][lane][lane] */
  unsigned sent;                              /* watch.cpp: relaxed stores of its threads */
  std::vector<unsigned> heard; /* watch.cpp: by block, how many of its relaxed stores are known to have been made */
};
extern const void *caller;
extern thread_state *thread_now;
extern block_state *block_now;
extern const launch_request *launch_now;

/* ---- watch.cpp: empty functions in builds that do not watch
 * ---------------------------------------------------------- */

void watch_launch_begins(const launch_request &r);
void watch_launch_ends();
void watch_block_begins(block_state &b);
void watch_syncwarp(block_state &b, int warp, unsigned mask);
void watch_copy(const pending_copy &c);          /* of cp.async, as its thread's own accesses */
void watch_written(const void *p, size_t bytes); /* by copies and fills */
void watch_copied(const void *to, const void *from,
                  size_t bytes); /* within the device: what was not written is not written there either */
void watch_read(const void *p, size_t bytes, const char *what); /* by copies to the host */
void watch_new(const void *p, size_t bytes);
void watch_gone(const void *p, size_t bytes);
/* Device memory that the host cannot touch, or null where nobody watches. Between watch_device(true) and (false) the
 * device works, and it can be touched. */
char *watch_memory(size_t bytes);
bool watch_owns(const void *p);
void watch_device(bool works);
/* One atomic access of a kernel, which may change what is there. */
void watch_atomic(const void *p, size_t bytes, bool changes);
/* Whether something was reported since the last call. */
bool watch_reported();

/* ---- stream.cpp ---------------------------------------------------------------------------------------------------
 */

/* Puts work into a stream, or into the graph that it is being captured for. */
cudaError_t enqueue(cudaStream_t s, std::function<void()> work);
cudaError_t run_through(cudaStream_t s);
void run_everything();

}  // namespace emulated

#endif
