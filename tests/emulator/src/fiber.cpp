/* SPDX-License-Identifier: BSD-3-Clause */
/* Fibers: stacks of their own, switched by hand. A switch saves what the calling convention says a call must keep. */
#include "internal.h"

#include <sys/mman.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#if (!defined(__x86_64__) && !defined(__aarch64__)) || defined(EMULATOR_UCONTEXT)
#include <ucontext.h>
#define FIBERS_BY_UCONTEXT 1
#endif

namespace emulated {

struct fiber {
  char *stack;
#ifdef FIBERS_BY_UCONTEXT
  ucontext_t context;
#else
  void *top; /* where its registers lie while another runs */
#endif
  void (*entry)();
  void *fake_stack; /* AddressSanitizer's */
  size_t offset; /* where it begins below its stack's end: another one for each, or all of them would compete for the
                    same lines of the caches */
  bool used;     /* since the stacks' ends were looked at */
};

enum : size_t { STACK = 256 << 10, STACKS_A_PIECE = 64, LEFT_BEHIND = 8 << 10 };
static const uint64_t canary = 0x5bd1e995a5a5a5a5u;

static fiber host;
#ifdef __SANITIZE_ADDRESS__
static size_t host_size;
#endif
static fiber *running = &host;
static std::vector<fiber *> &idle = *new std::vector<fiber *>();   /* until the end of the process */
static std::vector<fiber *> &in_use = *new std::vector<fiber *>(); /* since their stacks' ends were looked at */

#if defined(__x86_64__)
/* rdi: where the old top goes; rsi: the new one. Registers that a call keeps lie on the stack in between. */
asm(R"(
.text
.globl emulated_switch
.type emulated_switch, @function
emulated_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size emulated_switch, . - emulated_switch
)");
enum { SAVED = 6 };
#elif defined(__aarch64__)
asm(R"(
.text
.globl emulated_switch
.type emulated_switch, %function
emulated_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size emulated_switch, . - emulated_switch
)");
#endif
#ifndef FIBERS_BY_UCONTEXT
extern "C" void emulated_switch(void **old_top, void *new_top);
#endif

/* First words of a fiber: AddressSanitizer learns where its stack lies. */
static void begin() {
#ifdef __SANITIZE_ADDRESS__
  const void *bottom;
  size_t size;
  __sanitizer_finish_switch_fiber(nullptr, &bottom, &size);
  if (!host.stack)
    host.stack = static_cast<char *>(const_cast<void *>(bottom)),
    host_size = size; /* the first switch comes from the host */
#endif
  running->entry();
  std::abort(); /* an entry switches away for good */
}

static fiber *make() {
  char *piece = static_cast<char *>(mmap(nullptr, STACK * STACKS_A_PIECE, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (piece == MAP_FAILED) {
    tell("no memory for %zu stacks of threads", (size_t)STACKS_A_PIECE);
    std::abort();
  }
  for (size_t i = 0; i < STACKS_A_PIECE; i++) {
    fiber *f = new fiber();
    static size_t number;
    f->stack = piece + i * STACK;
    f->offset = 64 + number++ * 448 % 28672 / 16 * 16;
    std::memcpy(f->stack, &canary, sizeof canary); /* its lowest bytes: still there unless it has grown beyond */
    idle.push_back(f);
  }
  return idle.back();
}

fiber *fiber_take(void (*entry)()) {
  fiber *f = idle.empty() ? make() : idle.back();
  idle.pop_back();
  if (!f->used) f->used = true, in_use.push_back(f);
  f->entry = entry;
#ifdef __SANITIZE_ADDRESS__
  const size_t left = f->offset + LEFT_BEHIND;
  __asan_unpoison_memory_region(
      f->stack + STACK - left,
      left); /* frames that never returned: of begin() and what it called to switch away for good */
  f->fake_stack = nullptr;
#endif
#ifdef FIBERS_BY_UCONTEXT
  getcontext(&f->context);
  f->context.uc_stack.ss_sp = f->stack, f->context.uc_stack.ss_size = STACK, f->context.uc_link = nullptr;
  makecontext(&f->context, begin, 0);
#else
  void **top = reinterpret_cast<void **>(f->stack + STACK - f->offset);
#if defined(__x86_64__)
  *--top = nullptr; /* no caller: keeps the stack as a call finds it, 8 off a multiple of 16 */
  *--top = reinterpret_cast<void *>(begin);
  for (int i = 0; i < SAVED; i++) *--top = nullptr;
#else
  top -= 20;
  for (int i = 0; i < 20; i++) top[i] = nullptr;
  top[11] = reinterpret_cast<void *>(begin); /* x30 */
#endif
  f->top = top;
#endif
  return f;
}

void fiber_give_back(fiber *f) { idle.push_back(f); }

void fibers_checked() {
  for (fiber *f : in_use) {
    uint64_t found;
    std::memcpy(&found, f->stack, sizeof found);
    if (found != canary) {
      tell("a thread needs more than %zu KiB of stack", STACK >> 10);
      std::abort();
    }
    f->used = false;
  }
  in_use.clear();
}

fiber *fiber_now() { return running == &host ? nullptr : running; }

void fiber_stack(const fiber *f, const char **low, const char **high) { *low = f->stack, *high = f->stack + STACK; }

void fiber_switch(fiber *to, bool for_good) {
  fiber *from = running;
  running = to ? to : &host;
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(for_good ? nullptr : &from->fake_stack, running->stack,
                                 running == &host ? host_size : STACK);
#else
  (void)for_good;
#endif
#ifdef FIBERS_BY_UCONTEXT
  swapcontext(&from->context, &running->context);
#else
  emulated_switch(&from->top, running->top);
#endif
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(from->fake_stack, nullptr, nullptr);
#endif
}

}  // namespace emulated
