/* SPDX-License-Identifier: BSD-3-Clause */
/* A launch: its blocks one after the other (all at once where they are to wait for each other), the threads of a
 * block as fibers.
 *
 * A thread that never waits runs on the stack of the one before it: kernels without barriers cost a call a thread.
 * One that waits keeps its stack, and another stack is taken for whoever runs next. Who that is is drawn: the order
 * of blocks, of warps, of lanes in a warp, and for each block one of three policies: start all threads first, go on
 * with whoever can first, or any. With seed 0 everything runs in order. */
#include "internal.h"

#include <cstdarg>
#include <numeric>
#include <unistd.h>

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace emulated {

thread_state *thread_now;
block_state *block_now;
const launch_request *launch_now;

enum class policy : int { start_first, go_on_first, any };

/* The blocks that run at the same time, and their threads that can run. */
struct resident {
  std::vector<block_state *> blocks;
  struct place_of_thread {
    block_state *block;
    int thread;
  };
  std::vector<place_of_thread> fresh; /* not begun, the next one last */
  std::vector<block_state *> with_ready;
  std::vector<place_of_thread> polling;
  policy how;
  size_t unfinished;
};
static resident *here;
static const std::vector<variable> *shared_here; /* static shared variables of the kernel that runs */
static bool failed;
static totals all_executed;

const totals &executed() { return all_executed; }
bool in_kernel() { return launch_now && fiber_now(); }

static std::string thread_text(const block_state *b, const thread_state *t) {
  char text[160];
  snprintf(text, sizeof text, "block (%u,%u,%u), thread (%u,%u,%u)", b->index.x, b->index.y, b->index.z, t->index.x,
           t->index.y, t->index.z);
  return text;
}
static std::string place_text(place at) {
  if (!at.file) return "?";
  return at.line ? std::string(base_name(at.file)) + ":" + std::to_string(at.line) : at.file;
}

void fault(place at, const char *format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  tell("%s: kernel %s, %s: %s; EMULATOR_SEED=%llu repeats it", place_text(at).c_str(), launch_now->name,
       thread_text(block_now, thread_now).c_str(), text, (unsigned long long)seed());
  failed = true;
  sticky = cudaErrorLaunchFailure;
  fiber_switch(nullptr, true); /* the other threads' stacks are left as they are */
  std::abort();
}
void trap(place at) { fault(at, at.line ? "__trap()" : "trap"); }

/* ---- who runs next ------------------------------------------------------------------------------------------ */

/* Static arrays exist once. Where blocks run at the same time, each block's content is brought back for it. */
static void exchange_static_shared(block_state *from, block_state *to) {
  size_t at = 0;
  for (const variable &v : *shared_here) {
    for (block_state *b : {from, to})
      if (b && b->kept_static.size() < at + v.bytes) b->kept_static.resize(at + v.bytes, (char)0xff);
    if (from) std::memcpy(&from->kept_static[at], v.start, v.bytes);
    std::memcpy(v.start, &to->kept_static[at], v.bytes);
    at += v.bytes;
  }
}

static void set_current(block_state *b, thread_state *t) {
  if (block_now != b && launch_now->cooperative && !shared_here->empty()) exchange_static_shared(block_now, b);
  block_now = b, thread_now = t;
  threadIdx = t->index, blockIdx = b->index;
}

/* What all threads that are not done wait for. */
static void tell_deadlock() {
  std::map<std::string, std::pair<int, std::string>> waiting; /* by place: how many, and one of them */
  for (block_state *b : here->blocks)
    for (thread_state &t : b->threads)
      if (t.now == state::waiting) {
        const std::string what = (t.at_barrier                 ? "a barrier at "
                                  : t.slot.what == lanes::sync ? "__syncwarp at "
                                                               : "a warp function at ") +
                                 place_text(t.at);
        auto &w = waiting[what];
        if (w.first++ == 0) w.second = thread_text(b, &t);
      }
  std::string text;
  for (const auto &w : waiting)
    text += (text.empty() ? "" : "; ") + std::to_string(w.second.first) + " threads wait at " + w.first +
            " (first: " + w.second.second + ")";
  tell("deadlock in kernel %s: %s; EMULATOR_SEED=%llu repeats it", launch_now->name, text.c_str(),
       (unsigned long long)seed());
  failed = true;
  sticky = cudaErrorLaunchFailure;
}

static void make_ready(block_state *b, thread_state *t) {
  t->now = state::ready;
  b->ready.push_back(t->linear);
  if (b->listed >= 0) return;
  b->listed = (int)here->with_ready.size();
  here->with_ready.push_back(b);
}

static void unlist(block_state *b) {
  block_state *last = here->with_ready.back();
  here->with_ready[(size_t)b->listed] = last;
  last->listed = b->listed;
  here->with_ready.pop_back();
  b->listed = -1;
}

/* The thread that runs next; null where none can. *begins: it has not begun. Of blocks that run at the same time the
 * present one often goes on, which is what caches like. */
static thread_state *choose(bool *begins, block_state **of) {
  if (here->with_ready.empty() && here->fresh.empty() && !here->polling.empty()) {
    for (const auto &p : here->polling) make_ready(p.block, &p.block->threads[(size_t)p.thread]);
    here->polling.clear();
  }
  if (here->with_ready.empty() && here->fresh.empty()) return nullptr;
  const bool go_on = !here->with_ready.empty() && (here->fresh.empty() || here->how == policy::go_on_first ||
                                                   (here->how == policy::any && draw(2)));
  *begins = !go_on;
  if (!go_on) {
    const auto p = here->fresh.back();
    here->fresh.pop_back();
    *of = p.block;
    return &p.block->threads[(size_t)p.thread];
  }
  block_state *b = block_now && block_now->listed >= 0 && draw(64) != 63
                       ? block_now
                       : here->with_ready[draw((uint32_t)here->with_ready.size())];
  const size_t k = draw((uint32_t)b->ready.size());
  thread_state *t = &b->threads[(size_t)b->ready[k]];
  b->ready[k] = b->ready.back();
  b->ready.pop_back();
  if (b->ready.empty()) unlist(b);
  *of = b;
  return t;
}

static void fiber_main();

/* The thread that runs has to wait, or lets others go first: somebody else's turn. Comes back when it is this one's
 * again. */
static void give_way() {
  bool begins;
  block_state *b;
  block_state *const mine_block = block_now;
  thread_state *const mine = thread_now;
  thread_state *t = choose(&begins, &b);
  if (!t) {
    tell_deadlock();
    fiber_switch(nullptr, true);
  }
  if (t != mine) {
    set_current(b, t);
    if (begins) t->on = fiber_take(fiber_main), t->now = state::ready;
    fiber_switch(t->on, false);
    set_current(mine_block, mine);
  }
  mine->now = state::ready;
}

static void release_barrier(block_state *b);
static void complete_lanes(block_state *b, int warp);

static void finish_thread() {
  block_state *b = block_now;
  thread_state *t = thread_now;
  if (!t->copies.empty()) copies_commit(); /* nobody waits any more, but the hardware copies all the same */
  if (!t->groups.empty()) copies_wait(0);
  t->now = state::done;
  b->alive--;
  b->lanes_alive[(size_t)t->linear / 32] &= ~(1u << t->linear % 32);
  here->unfinished--;
  if (b->alive > 0 && b->arrived == b->alive) release_barrier(b);
  if (b->lanes_waiting[(size_t)t->linear / 32]) complete_lanes(b, t->linear / 32);
}

/* A fiber: thread after thread, as long as fresh ones come next. */
static void fiber_main() {
  for (;;) {
    launch_now->body.run(launch_now->body.arguments.get());
    finish_thread();
    if (here->unfinished == 0) break;
    bool begins;
    block_state *b;
    thread_state *t = choose(&begins, &b);
    if (!t) {
      tell_deadlock();
      break;
    }
    set_current(b, t);
    if (begins) {
      t->on = fiber_now(), t->now = state::ready;
      continue;
    }
    fiber_give_back(fiber_now());
    fiber_switch(t->on, true);
  }
  if (!failed) fiber_give_back(fiber_now());
  fiber_switch(nullptr, true);
}

void yield_while_polling() {
  if (!in_kernel()) return;
  thread_now->now = state::polling;
  here->polling.push_back({block_now, thread_now->linear});
  give_way();
}

const void *caller; /* of what is done for a kernel: its place is told */
void atomic_load(const void *p, void *to, size_t bytes) {
  caller = __builtin_return_address(0);
  watch_atomic(p, bytes, true);
  std::memcpy(to, p, bytes);
}
void atomic_store(void *p, const void *from, size_t bytes) { std::memcpy(p, from, bytes); }
void store_relaxed(void *to, const void *from, size_t bytes) {
  caller = __builtin_return_address(0);
  watch_atomic(to, bytes, true);
  std::memcpy(to, from, bytes);
}
void load_relaxed(void *to, const void *from, size_t bytes) {
  const void *const from_here = __builtin_return_address(0);
  yield_while_polling();
  caller = from_here;
  watch_atomic(from, bytes, false);
  std::memcpy(to, from, bytes);
}

/* ---- barriers ----------------------------------------------------------------------------------------------- */

static void release_barrier(block_state *b) {
  const int result = b->tally;
  b->arrived = 0;
  b->barriers++;
  for (thread_state &t : b->threads)
    if (t.at_barrier) {
      t.at_barrier = false;
      t.result = result;
      make_ready(b, &t);
    }
}

int barrier(join what, int predicate, place at) {
  block_state *b = block_now;
  thread_state *t = thread_now;
  if (b->arrived == 0) b->first_at_barrier = t, b->tally = what == join::all_of;
  const thread_state *other = b->first_at_barrier;
  if (other != t &&
      (other->at.line != at.line || (other->at.file != at.file && std::strcmp(other->at.file, at.file) != 0)))
    fault(at, "threads of a block wait at different barriers: here, and %s at %s", thread_text(b, other).c_str(),
          place_text(other->at).c_str());
  b->tally = what == join::any_of   ? b->tally | (predicate != 0)
             : what == join::all_of ? b->tally & (predicate != 0)
                                    : b->tally + (predicate != 0);
  b->arrived++;
  t->at_barrier = true, t->at = at;
  t->now = state::waiting;
  if (b->arrived == b->alive) release_barrier(b);
  give_way();
  return t->result;
}

/* ---- warp functions ------------------------------------------------------------------------------------------- */

static thread_state *lane_of(block_state *b, int warp, int lane) {
  const size_t linear = (size_t)warp * 32 + (size_t)lane;
  return linear < b->threads.size() && b->threads[linear].now != state::done ? &b->threads[linear] : nullptr;
}

/* The lane that a shuffle reads, or the own one where the guide says so. */
static int source_lane(const lane_slot &s, int lane) {
  const int first = lane & ~(s.width - 1), last = first + s.width - 1;
  const int from = s.what == lanes::shuffle_index  ? first + (s.parameter & (s.width - 1))
                   : s.what == lanes::shuffle_up   ? lane - s.parameter
                   : s.what == lanes::shuffle_down ? lane + s.parameter
                                                   : lane ^ s.parameter;
  if (s.what == lanes::shuffle_up) return from < first ? lane : from;
  return from > last ? lane : from;
}

/* What a function of all lanes gives. */
static uint64_t combined(const lane_slot &s, thread_state *const lane[32]) {
  uint64_t result = 0;
  bool first = true;
  for (int l = 0; l < 32; l++) {
    if (!(s.mask >> l & 1) || !lane[l]) continue;
    const uint64_t v = lane[l]->slot.bits;
    const bool less = s.is_signed ? (int64_t)v < (int64_t)result : v < result;
    switch (s.what) {
      case lanes::ballot:
        result |= (uint64_t)(v != 0) << l;
        break;
      case lanes::any_of:
        result |= v != 0;
        break;
      case lanes::all_of:
        result = first ? v != 0 : result & (v != 0);
        break;
      case lanes::add:
        result += v;
        break;
      case lanes::least:
        result = first || less ? v : result;
        break;
      case lanes::most:
        result = first || (!less && v != result) ? v : result;
        break;
      case lanes::and_bits:
        result = first ? v : result & v;
        break;
      case lanes::or_bits:
        result |= v;
        break;
      case lanes::xor_bits:
        result ^= v;
        break;
      default:
        break;
    }
    first = false;
  }
  return result;
}

/* Groups of lanes of a warp that all wait for each other go on. A lane that has ended, or that the mask does not
 * name, gives all ones: a NaN, or -1. */
static void complete_lanes(block_state *b, int warp) {
  thread_state *lane[32];
  for (int l = 0; l < 32; l++) lane[l] = lane_of(b, warp, l);
  for (int l = 0; l < 32; l++) {
    if (!lane[l] || !lane[l]->slot.waiting) continue;
    const lane_slot s = lane[l]->slot;
    bool all = true;
    for (int m = 0; m < 32; m++)
      if ((s.mask >> m & 1) && lane[m])
        all &= lane[m]->slot.waiting && lane[m]->slot.mask == s.mask && lane[m]->slot.what == s.what;
    if (!all) continue;
    uint64_t result[32];
    const bool shuffles = s.what >= lanes::shuffle_index && s.what <= lanes::shuffle_xor;
    const uint64_t one = shuffles ? 0 : combined(s, lane);
    for (int m = 0; m < 32; m++) {
      if (!(s.mask >> m & 1) || !lane[m]) continue;
      const int from = shuffles ? source_lane(lane[m]->slot, m) : 0;
      result[m] = !shuffles ? one : (s.mask >> from & 1) && lane[from] ? lane[from]->slot.bits : ~(uint64_t)0;
    }
    if (s.what == lanes::sync) watch_syncwarp(*b, warp, s.mask);
    for (int m = 0; m < 32; m++)
      if ((s.mask >> m & 1) && lane[m]) {
        lane[m]->slot.waiting = false;
        b->lanes_waiting[(size_t)warp] &= ~(1u << m);
        lane[m]->slot.bits = result[m];
        make_ready(b, lane[m]);
      }
  }
}

uint64_t meet(lanes what, unsigned mask, uint64_t bits, int parameter, int width, bool is_signed, place at) {
  block_state *b = block_now;
  thread_state *t = thread_now;
  const int lane = t->linear % 32, warp = t->linear / 32;
  if (!(mask >> lane & 1)) fault(at, "lane %d calls a warp function whose mask %08x does not name it", lane, mask);
  if (width < 1 || width > 32 || (width & (width - 1))) fault(at, "width %d is no power of 2 up to 32", width);
  unsigned &waiting = b->lanes_waiting[(size_t)warp];
  if (waiting & mask) { /* all of them wait for the same: one stands for all */
    const int m = __builtin_ctz(waiting & mask);
    const thread_state *other = lane_of(b, warp, m);
    if (other->slot.what != what || other->slot.mask != mask || other->at.line != at.line)
      fault(at,
            "lanes of a warp wait at different warp functions: lane %d here with mask %08x, lane %d at %s with mask "
            "%08x",
            lane, mask, m, place_text(other->at).c_str(), other->slot.mask);
  }
  waiting |= 1u << lane;
  t->slot = {true, what, mask, bits, parameter, width, is_signed, at};
  t->at = at;
  t->now = state::waiting;
  if ((mask & b->lanes_alive[(size_t)warp] & ~waiting) == 0) complete_lanes(b, warp);
  give_way();
  return t->slot.bits;
}

/* ---- shared memory and asynchronous copies -----------------------------------------------------------------------
 */

void *dynamic_shared(size_t align) {
  if (launch_now->shared > 0 && (uintptr_t)block_now->dynamic % align != 0)
    fault({"dynamic shared memory", 0}, "an alignment of %zu bytes is not given", align);
  return block_now->dynamic;
}

void copy_async(void *to, const void *from, size_t bytes, size_t from_bytes, place at) {
  if (bytes != 4 && bytes != 8 && bytes != 16) fault(at, "an asynchronous copy of %zu bytes; 4, 8 or 16", bytes);
  if ((uintptr_t)to % bytes != 0 || (from_bytes && (uintptr_t)from % bytes != 0))
    fault(at, "an asynchronous copy of %zu bytes off its alignment (%p from %p)", bytes, to, from);
  if (from_bytes > bytes) fault(at, "an asynchronous copy that fills more than it has");
  thread_now->copies.push_back(
      {static_cast<char *>(to), static_cast<const char *>(from), bytes, from_bytes, __builtin_return_address(0)});
  std::memset(to, 0xff, bytes); /* whoever reads it before it is waited for sees NaN */
}
void copies_commit() {
  thread_now->groups.push_back(std::move(thread_now->copies));
  thread_now->copies.clear();
}
void copies_wait(size_t later) {
  while (thread_now->groups.size() > later) {
    for (const pending_copy &c : thread_now->groups.front()) {
      watch_copy(c);
      std::memcpy(c.to, c.from, c.from_bytes);
      std::memset(c.to + c.from_bytes, 0, c.bytes - c.from_bytes);
    }
    thread_now->groups.erase(thread_now->groups.begin());
  }
}

/* ---- a launch
 * ------------------------------------------------------------------------------------------------------- */

static void prepare(block_state &b, const launch_request &r, uint64_t number) {
  const uint64_t gx = r.grid.x, gy = r.grid.y;
  b.index = {(unsigned)(number % gx), (unsigned)(number / gx % gy), (unsigned)(number / (gx * gy))};
  b.number = (int)number;
  const size_t count = (size_t)r.block.x * r.block.y * r.block.z;
  if (b.threads.size() != count) {
    b.threads.clear();
    b.threads.resize(count);
  }
  for (size_t i = 0; i < count; i++) {
    thread_state &t = b.threads[i];
    t.index = {(unsigned)(i % r.block.x), (unsigned)(i / r.block.x % r.block.y),
               (unsigned)(i / ((size_t)r.block.x * r.block.y))};
    t.linear = (int)i;
    t.now = state::fresh, t.on = nullptr, t.at_barrier = false, t.slot.waiting = false, t.warp_stamp = 0;
    t.copies.clear(), t.groups.clear();
  }
  b.alive = (int)count, b.arrived = 0, b.barriers = 0;
  b.lanes_alive.assign((count + 31) / 32, ~0u);
  if (count % 32) b.lanes_alive.back() = (1u << count % 32) - 1;
  b.lanes_waiting.assign((count + 31) / 32, 0);
  void *room = nullptr; /* exactly the bytes asked for, so that AddressSanitizer guards their end */
  if (!b.dynamic && r.shared && posix_memalign(&room, 1024, r.shared) == 0) b.dynamic = static_cast<char *>(room);
  if (r.shared) std::memset(b.dynamic, 0xff, r.shared);
  b.kept_static.clear();
  b.ready.clear();
  b.listed = -1;
}

/* Threads in the order in which they begin, the first one last: warps drawn, lanes within a warp drawn. */
static void add_fresh(resident &h, block_state &b) {
  const int count = (int)b.threads.size(), warps = (count + 31) / 32;
  std::vector<int> warp((size_t)warps), lane(32);
  std::iota(warp.begin(), warp.end(), 0);
  for (int i = warps - 1; i > 0 && seed(); i--) std::swap(warp[(size_t)i], warp[draw((uint32_t)i + 1)]);
  for (int w = warps - 1; w >= 0; w--) {
    std::iota(lane.begin(), lane.end(), 0);
    for (int i = 31; i > 0 && seed(); i--) std::swap(lane[(size_t)i], lane[draw((uint32_t)i + 1)]);
    for (int l = 31; l >= 0; l--) {
      const int linear = warp[(size_t)w] * 32 + lane[(size_t)l];
      if (linear < count) h.fresh.push_back({&b, linear});
    }
  }
}

/* Blocks that run at the same time, until all their threads have ended or one has failed. */
static void run_resident(std::vector<block_state *> blocks) {
  static resident h; /* its vectors are kept from launch to launch */
  h.blocks = std::move(blocks);
  h.fresh.clear(), h.with_ready.clear(), h.polling.clear();
  h.unfinished = 0;
  h.how = seed() ? static_cast<policy>(draw(3)) : policy::start_first;
  for (block_state *b : h.blocks) {
    add_fresh(h, *b);
    h.unfinished += b->threads.size();
    watch_block_begins(*b);
  }
  here = &h;
  bool begins;
  block_state *b;
  block_now = nullptr;
  thread_state *t = choose(&begins, &b);
  set_current(b, t);
  t->on = fiber_take(fiber_main), t->now = state::ready;
  fiber_switch(t->on, false);
  here = nullptr;
}

/* The blocks of a launch in the order in which they run. Of a very large grid EMULATOR_BLOCKS many: the first, the
 * last, and drawn ones. */
static std::vector<uint64_t> order_of_blocks(uint64_t count) {
  const char *text = std::getenv("EMULATOR_BLOCKS");
  const uint64_t most = text ? std::strtoull(text, nullptr, 10) : 0;
  std::vector<uint64_t> order;
  if (most && count > most) {
    order = {0, count - 1};
    while (order.size() < most) order.push_back(((uint64_t)draw(~0u) << 32 | draw(~0u)) % count);
    return order;
  }
  order.resize(count);
  std::iota(order.begin(), order.end(), (uint64_t)0);
  for (uint64_t i = count; i > 1 && seed(); i--) std::swap(order[i - 1], order[draw((uint32_t)i)]);
  return order;
}

void execute(const launch_request &r) {
  if (sticky != cudaSuccess) return;
  const uint64_t count = (uint64_t)r.grid.x * r.grid.y * r.grid.z;
  launch_now = &r;
  blockDim = r.block, gridDim = r.grid;
  failed = false;
  shared_here = &shared_of(r.kernel);
  watch_launch_begins(r);
  if (r.cooperative) {
    std::vector<block_state> blocks(count);
    std::vector<block_state *> all;
    for (uint64_t i = 0; i < count; i++) {
      blocks[i].dynamic = nullptr;
      prepare(blocks[i], r, i);
      all.push_back(&blocks[i]);
    }
    run_resident(all);
    for (block_state &b : blocks) std::free(b.dynamic);
  } else {
    static block_state b;
    for (uint64_t number : order_of_blocks(count)) {
      for (const variable &v : *shared_here) std::memset(v.start, 0xff, v.bytes);
      prepare(b, r, number);
      run_resident({&b});
      if (failed) break;
    }
    std::free(b.dynamic);
    b.dynamic = nullptr;
  }
  fibers_checked();
  watch_launch_ends();
  all_executed.launches++, all_executed.blocks += count,
      all_executed.threads += count * r.block.x * r.block.y * r.block.z;
  launch_now = nullptr, block_now = nullptr, thread_now = nullptr;
}

/* ---- checks of a launch ---------------------------------------------------------------------------------------- */

static std::map<const void *, size_t> asked; /* dynamic shared memory beyond what any block has */

cudaError_t set_dynamic_shared(const void *kernel, int bytes) {
  if (bytes < 0 || (size_t)bytes + static_shared_of(kernel) > this_device().shared_optin)
    return fail_call(cudaErrorInvalidValue,
                     "%d bytes of shared memory asked for a kernel with %zu static ones; the device has %zu a block",
                     bytes, static_shared_of(kernel), this_device().shared_optin);
  asked[kernel] = (size_t)bytes;
  return cudaSuccess;
}

cudaError_t enqueue_launch(const char *name, const void *kernel, dim3 grid, dim3 block, size_t shared,
                           bool cooperative, cudaStream_t stream, call body) {
  if (sticky != cudaSuccess) return sticky;
  const uint64_t threads = (uint64_t)block.x * block.y * block.z;
  const size_t own = static_shared_of(kernel);
  const auto found = asked.find(kernel);
  const size_t most = found != asked.end() && found->second + own > SHARED_WITHOUT_ASKING
                          ? found->second + own
                          : (size_t)SHARED_WITHOUT_ASKING;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || threads == 0)
    return fail_call(cudaErrorInvalidConfiguration, "launch of %s: no blocks or no threads", name);
  if (grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535)
    return fail_call(cudaErrorInvalidConfiguration,
                     "launch of %s: a grid of %u x %u x %u blocks; 2^31-1 x 65535 x 65535 at most", name, grid.x,
                     grid.y, grid.z);
  if (threads > MOST_THREADS || block.z > 64)
    return fail_call(cudaErrorInvalidConfiguration, "launch of %s: %llu threads a block; %d at most", name,
                     (unsigned long long)threads, (int)MOST_THREADS);
  if (shared + own > most)
    return fail_call(cudaErrorInvalidValue,
                     "launch of %s: %zu bytes of dynamic and %zu of static shared memory; %zu at most%s", name,
                     shared, own, most, most == SHARED_WITHOUT_ASKING ? " without cudaFuncSetAttribute" : "");
  if (cooperative) {
    int blocks = 0;
    occupancy(&blocks, kernel, (int)threads, shared);
    if ((uint64_t)grid.x * grid.y * grid.z > (uint64_t)blocks * (uint64_t)this_device().processors)
      return fail_call(cudaErrorCooperativeLaunchTooLarge,
                       "cooperative launch of %s: %llu blocks, of which %d processors hold %d each", name,
                       (unsigned long long)((uint64_t)grid.x * grid.y * grid.z), this_device().processors, blocks);
  }
  launch_request r{name, kernel, grid, block, shared, cooperative, std::move(body)};
  return enqueue(stream, [r]() { execute(r); });
}

}  // namespace emulated
