/* SPDX-License-Identifier: BSD-3-Clause */
/* The watching build: kernels are compiled with -fsanitize=thread, whose calls before every access come here instead
 * of to that sanitizer's library. Here it is known what that library cannot know: barriers, warps, blocks and
 * launches. Reported are races: two accesses to a word, one of them a write, by different threads, that no barrier
 * orders, whatever the order was this time; accesses outside of any array; reads of what nobody has written; the host
 * touching device memory. Every word of 4 bytes of an array has a cell that says who wrote it last and who read it.
 */
#include "internal.h"

#include <csignal>
#include <set>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

namespace emulated {

struct access {
  unsigned launch; /* 0: none */
  int block;
  short thread;
  bool atomic;
  unsigned barriers, warp_stamp, sent; /* sent: relaxed stores of the block before it */
  const void *pc;
};
struct cell {
  access writer, reader[2]; /* two readers, of different threads: one of them is another than the next writer */
  bool written;             /* of an array; what a block has not written in shared memory is told by its writer */
};
struct region {
  char *start;
  size_t bytes;
  bool shared;
  std::string name; /* of a shared variable */
  std::vector<cell> cells;
  bool holds(const void *p) const { return p >= start && p < start + bytes; }
};

static std::map<uintptr_t, region> arrays; /* device and pinned memory */
static std::vector<region> shared; /* of the launch that runs: static variables, the block's dynamic memory (of all
                                      blocks where they run at the same time) */
static unsigned shared_launch;     /* that they were made for */
static unsigned launch_number;
static bool reported;
static std::set<std::string> told;

bool watch_reported() {
  const bool r = reported;
  reported = false;
  return r;
}

static std::string thread_of(const access &a) {
  char text[160];
  const uint64_t gx = gridDim.x, gy = gridDim.y;
  const unsigned bx = blockDim.x, by = blockDim.y, t = (unsigned)a.thread, b = (unsigned)a.block;
  snprintf(text, sizeof text, "block (%u,%u,%u), thread (%u,%u,%u)", (unsigned)(b % gx), (unsigned)(b / gx % gy),
           (unsigned)(b / (gx * gy)), t % bx, t / bx % by, t / (bx * by));
  return text;
}

/* Each pair of places once. */
static void complain(const char *kind, const void *pc, const access *other, const char *how, const char *other_how,
                     const std::string &where) {
  reported = true;
  char key[160];
  snprintf(key, sizeof key, "%s %p %p", kind, pc, other ? other->pc : nullptr);
  if (!told.insert(key).second || told.size() > 200) return;
  const access now = {launch_number, block_now->number, (short)thread_now->linear, false, 0, 0, 0, pc};
  std::string text = std::string(kind) + ": kernel " + launch_now->name + ", " + thread_of(now) + " " + how + " " +
                     where + " at " + source_of(pc);
  if (other) text += ", " + thread_of(*other) + " " + other_how + " it at " + source_of(other->pc);
  tell("%s", text.c_str());
}

static std::string where_in(const region &r, const void *p) {
  char text[240];
  const size_t at = (size_t)(static_cast<const char *>(p) - r.start);
  if (r.shared)
    snprintf(text, sizeof text, "shared memory (%.100s, byte %zu of %zu)", r.name.c_str(), at, r.bytes);
  else
    snprintf(text, sizeof text, "byte %zu of an array of %zu", at, r.bytes);
  return text;
}

/* Whether what happened before is ordered before what happens now. */
static bool ordered(const access &before, bool shared_memory) {
  const block_state &b = *block_now;
  if (shared_memory && before.block != b.number) return true; /* each block has its own */
  if (before.launch != launch_number) return true;
  if (before.block != b.number)
    return b.heard.size() > (size_t)before.block && b.heard[(size_t)before.block] > before.sent;
  if (before.thread == thread_now->linear || before.barriers != b.barriers) return true;
  if (before.thread / 32 != thread_now->linear / 32) return false;
  const size_t warp = (size_t)thread_now->linear / 32;
  return b.warp_met[(warp * 32 + (size_t)before.thread % 32) * 32 + (size_t)thread_now->linear % 32] >
         before.warp_stamp;
}

/* Cells of shared memory are kept from block to block: what another block has left there is nobody's. */
static bool was_written(const region &r, const cell &c) {
  return r.shared && !launch_now->cooperative
             ? c.writer.launch == launch_number && c.writer.block == block_now->number
             : c.written;
}

static void touch(region &r, const char *p, size_t bytes, bool write, bool atomic, const void *pc) {
  const block_state &b = *block_now;
  const access now = {launch_number, b.number,   (short)thread_now->linear,
                      atomic,        b.barriers, b.warp_clock[(size_t)thread_now->linear / 32],
                      b.sent,        pc};
  if (p + bytes > r.start + r.bytes)
    complain("out of bounds", pc, nullptr, write ? "writes beyond the end of" : "reads beyond the end of", "",
             where_in(r, p));
  const size_t first = (size_t)(p - r.start) / 4,
               last = std::min((size_t)(p + bytes - 1 - r.start) / 4, r.cells.size() - 1);
  for (size_t i = first; i <= last && i < r.cells.size(); i++) {
    cell &c = r.cells[i];
    const char *how = atomic ? "changes" : write ? "writes" : "reads";
    if (c.writer.launch && !(atomic && c.writer.atomic) && !ordered(c.writer, r.shared))
      complain("race", pc, &c.writer, how, c.writer.atomic ? "changed" : "wrote", where_in(r, p));
    if (!write) {
      if (!was_written(r, c)) complain("nobody wrote", pc, nullptr, "reads", "", where_in(r, p));
      const bool first_again = c.reader[0].launch != launch_number ||
                               (c.reader[0].block == b.number && c.reader[0].thread == now.thread) ||
                               (c.reader[0].block == b.number && ordered(c.reader[0], r.shared));
      c.reader[first_again ? 0 : 1] = now;
      continue;
    }
    for (const access &reader : c.reader)
      if (reader.launch && !(atomic && reader.atomic) && !ordered(reader, r.shared))
        complain("race", pc, &reader, how, "read", where_in(r, p));
    if (atomic && !was_written(r, c)) complain("nobody wrote", pc, nullptr, "changes", "", where_in(r, p));
    c.writer = now;
    c.written = true;
  }
}

static region *last_array; /* looked up last; null when an array has come or gone since */
static region *array_at(const void *p) {
  if (last_array && last_array->holds(p)) return last_array;
  auto next = arrays.upper_bound(reinterpret_cast<uintptr_t>(p));
  if (next == arrays.begin()) return nullptr;
  region &r = std::prev(next)->second;
  if (!r.holds(p)) return nullptr;
  return last_array = &r;
}

static region *shared_at(const void *p) {
  static size_t last;
  if (last < shared.size() && shared[last].holds(p)) return &shared[last];
  for (last = 0; last < shared.size(); last++)
    if (shared[last].holds(p)) return &shared[last];
  return nullptr;
}

extern "C" char __executable_start, _end;

static void look_at(const void *address, size_t bytes, bool write, bool atomic, const void *pc) {
  if (!launch_now || !thread_now || !fiber_now()) return; /* host code of the same files */
  const char *p = static_cast<const char *>(address), *low, *high;
  fiber_stack(fiber_now(), &low, &high);
  if (p >= low && p < high) return;
  region *r = watch_owns(p) ? nullptr : shared_at(p);
  if (!r) r = array_at(p);
  if (r) return touch(*r, p, bytes, write, atomic, pc);
  const char *arguments = static_cast<const char *>(launch_now->body.arguments.get());
  if (!write && p >= arguments && p + bytes <= arguments + launch_now->body.bytes) return;
  if (allocation_at(p)) return; /* an array too large to be watched */
  if (p >= &__executable_start && p < &_end) {
    if (write) complain("out of bounds", pc, nullptr, "writes", "", "a variable of the host");
    return; /* constants, threadIdx */
  }
  char text[40];
  snprintf(text, sizeof text, "%p, which is in no array,", address);
  complain("out of bounds", pc, nullptr, write ? "writes to" : "reads from", "", text);
}

/* Blocks that run at the same time tell each other by relaxed stores and loads what they have done: whoever reads
 * such a word comes after all that the writing block did before. */
void watch_atomic(const void *p, size_t bytes, bool changes) {
  block_state &b = *block_now;
  if (changes) b.sent++;
  region *r = changes || !launch_now->cooperative ? nullptr : array_at(p);
  if (r) {
    const access &w = r->cells[(size_t)(static_cast<const char *>(p) - r->start) / 4].writer;
    if (w.launch == launch_number && w.atomic && w.block != b.number) {
      if (b.heard.size() <= (size_t)w.block) b.heard.resize((size_t)w.block + 1, 0);
      b.heard[(size_t)w.block] = std::max(b.heard[(size_t)w.block], w.sent);
    }
  }
  look_at(p, bytes, changes, true, caller);
}

void watch_launch_begins(const launch_request &) { launch_number++; }
void watch_launch_ends() { shared.clear(); }
void watch_block_begins(block_state &b) {
  const size_t warps = (b.threads.size() + 31) / 32;
  b.warp_clock.assign(warps, 0);
  b.warp_met.assign(warps * 32 * 32, 0);
  b.sent = 0;
  b.heard.clear();
  const bool first_of_launch = shared_launch != launch_number;
  shared_launch = launch_number;
  if (!first_of_launch && !launch_now->cooperative) return; /* the same places as those of the block before */
  if (first_of_launch) {
    shared.clear();
    for (const variable &v : shared_of(launch_now->kernel))
      shared.push_back({v.start, v.bytes, true, v.name, std::vector<cell>((v.bytes + 3) / 4)});
  }
  if (launch_now->shared)
    shared.push_back(
        {b.dynamic, launch_now->shared, true, "dynamic", std::vector<cell>((launch_now->shared + 3) / 4)});
}
void watch_syncwarp(block_state &b, int warp, unsigned mask) {
  const unsigned clock = ++b.warp_clock[(size_t)warp];
  for (size_t l = 0; l < 32; l++)
    for (size_t m = 0; m < 32; m++)
      if ((mask >> l & 1) && (mask >> m & 1)) b.warp_met[((size_t)warp * 32 + l) * 32 + m] = clock;
}
void watch_copy(const pending_copy &c) {
  const void *pc = c.pc;
  if (c.from_bytes) look_at(c.from, c.from_bytes, false, false, pc);
  look_at(c.to, c.bytes, true, false, pc);
}

static void mark(const void *p, size_t bytes, bool written) {
  region *r = array_at(p);
  if (!r) return;
  const size_t first = (size_t)(static_cast<const char *>(p) - r->start) / 4;
  for (size_t i = first; i < first + (bytes + 3) / 4 && i < r->cells.size(); i++) r->cells[i].written = written;
}
void watch_written(const void *p, size_t bytes) { mark(p, bytes, true); }
void watch_copied(const void *to, const void *from, size_t bytes) {
  region *a = array_at(to), *b = array_at(from);
  if (!a || !b) return;
  const size_t first = (size_t)(static_cast<const char *>(to) - a->start) / 4,
               source = (size_t)(static_cast<const char *>(from) - b->start) / 4;
  for (size_t i = 0; i < (bytes + 3) / 4 && first + i < a->cells.size() && source + i < b->cells.size(); i++)
    a->cells[first + i].written = b->cells[source + i].written;
}
void watch_read(const void *p, size_t bytes, const char *what) {
  const region *r = array_at(p);
  if (!r) return;
  const size_t first = (size_t)(static_cast<const char *>(p) - r->start) / 4;
  for (size_t i = first; i < first + (bytes + 3) / 4 && i < r->cells.size(); i++)
    if (!r->cells[i].written) {
      reported = true;
      tell("nobody wrote: %s reads byte %zu of an array of %zu", what, 4 * i, r->bytes);
      return;
    }
}
void watch_new(const void *p, size_t bytes) {
  if (bytes > (size_t)1 << 30) return; /* cells would take more memory than there is */
  char *start = static_cast<char *>(const_cast<void *>(p));
  const allocation *a = allocation_at(p);
  region r{start, bytes, false, "", std::vector<cell>((bytes + 3) / 4)};
  if (a && a->where == place_of::pinned)
    for (cell &c : r.cells) c.written = true; /* the host writes it unseen */
  last_array = nullptr;
  arrays[reinterpret_cast<uintptr_t>(p)] = std::move(r);
}
void watch_gone(const void *p, size_t bytes) {
  last_array = nullptr;
  arrays.erase(reinterpret_cast<uintptr_t>(p));
  if (watch_owns(p)) madvise(const_cast<void *>(p), (bytes + 4095) / 4096 * 4096, MADV_DONTNEED);
}

/* ---- memory that the host cannot touch ----------------------------------------------------------------------------
 */

enum : size_t { ARENA = (size_t)256 << 30, PAGE = 4096 };
static char *arena, *top;
static int depth;

static void on_fault(int, siginfo_t *info, void *context) {
  const char *p = static_cast<const char *>(info->si_addr);
  if (arena && p >= arena && p < top && depth == 0) {
#if defined(__x86_64__)
    const void *pc =
        reinterpret_cast<const void *>(static_cast<ucontext_t *>(context)->uc_mcontext.gregs[REG_RIP] + 1);
#else
    const void *pc = nullptr;
    (void)context;
#endif
    const allocation *a = allocation_at(p);
    tell("the host touches device memory: byte %zu of an array of %zu, at %s", a ? (size_t)(p - a->start) : 0,
         a ? a->bytes : 0, source_of(pc).c_str());
    _exit(1);
  }
  signal(SIGSEGV, SIG_DFL);
}

bool watch_owns(const void *p) { return arena && p >= arena && p < top; }
void watch_device(bool works) {
  depth += works ? 1 : -1;
  if (!arena || top == arena || depth > 1 || (depth == 1 && !works)) return;
  mprotect(arena, (size_t)(top - arena), works ? PROT_READ | PROT_WRITE : PROT_NONE);
}
char *watch_memory(size_t bytes) {
  if (bytes > (size_t)1 << 30) return nullptr;
  if (!arena) {
    void *p = mmap(nullptr, ARENA, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return nullptr;
    arena = top = static_cast<char *>(p);
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, nullptr);
  }
  const size_t room = (bytes + PAGE - 1) / PAGE * PAGE + PAGE; /* a page between arrays that none holds */
  if (top + room > arena + ARENA) return nullptr;
  char *p = top;
  top += room;
  return p;
}

}  // namespace emulated

/* ---- what the compiler calls --------------------------------------------------------------------------------------
 */

#define WATCH(bytes)                                                                                           \
  void __tsan_read##bytes(void *p) { emulated::look_at(p, bytes, false, false, __builtin_return_address(0)); } \
  void __tsan_write##bytes(void *p) { emulated::look_at(p, bytes, true, false, __builtin_return_address(0)); } \
  void __tsan_unaligned_read##bytes(void *p) {                                                                 \
    emulated::look_at(p, bytes, false, false, __builtin_return_address(0));                                    \
  }                                                                                                            \
  void __tsan_unaligned_write##bytes(void *p) {                                                                \
    emulated::look_at(p, bytes, true, false, __builtin_return_address(0));                                     \
  }
extern "C" {
WATCH(1)
WATCH(2)
WATCH(4)
WATCH(8)
WATCH(16)
void __tsan_read_range(void *p, size_t bytes) {
  if (bytes) emulated::look_at(p, bytes, false, false, __builtin_return_address(0));
}
void __tsan_write_range(void *p, size_t bytes) {
  if (bytes) emulated::look_at(p, bytes, true, false, __builtin_return_address(0));
}
void __tsan_init() {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void **, void *) {}
void __tsan_vptr_read(void **) {}
/* The host's own, of std::shared_ptr; device code has atomicAdd. */
int __tsan_atomic32_fetch_add(volatile int *p, int v, int) { return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST); }
int __tsan_atomic32_load(const volatile int *p, int) { return __atomic_load_n(p, __ATOMIC_SEQ_CST); }
long __tsan_atomic64_load(const volatile long *p, int) { return __atomic_load_n(p, __ATOMIC_SEQ_CST); }
char __tsan_atomic8_load(const volatile char *p, int) { return __atomic_load_n(p, __ATOMIC_SEQ_CST); }
}
