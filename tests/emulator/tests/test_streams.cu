/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams, events and graphs of the emulator: what waits for what, and what need not. */
#include "../cuda_launch.h"
#include "expect.h"

#include <cmath>

static __global__ void times_two(int *x) { *x *= 2; }
static __global__ void plus_one(int *x) { *x += 1; }
static void streams(void) {
  const int one = 1;
  int *x = device<int>(1, &one), *pinned;
  cudaStream_t a, b;
  cudaEvent_t e;
  cudaGraph_t g;
  cudaGraphExec_t exec;
  float ms;
  OK(cudaMallocHost(&pinned, 4));
  OK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking)), OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking)),
      OK(cudaEventCreate(&e));
  /* nothing has run before somebody waits */
  *pinned = 7;
  OK(CUDA_LAUNCH(times_two, 1, 1, 0, a, x));
  OK(cudaMemcpyAsync(pinned, x, 4, cudaMemcpyDeviceToHost, a));
  EXPECT(*pinned == 7);
  OK(cudaStreamSynchronize(a));
  EXPECT(*pinned == 2);
  /* another stream waits for an event */
  OK(CUDA_LAUNCH(plus_one, 1, 1, 0, a, x));
  OK(cudaEventRecord(e, a));
  OK(cudaStreamWaitEvent(b, e));
  OK(CUDA_LAUNCH(times_two, 1, 1, 0, b, x));
  OK(cudaStreamSynchronize(b));
  EXPECT(host(x, 1)[0] == 6);
  /* what was recorded is issued again */
  OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
  OK(CUDA_LAUNCH(plus_one, 1, 1, 0, a, x)), OK(CUDA_LAUNCH(times_two, 1, 1, 0, a, x));
  EXPECT(cudaStreamSynchronize(a) == cudaErrorStreamCaptureUnsupported);
  (void)cudaGetLastError();
  OK(cudaStreamEndCapture(a, &g)), OK(cudaGraphInstantiate(&exec, g, 0));
  for (int i = 0; i < 3; i++) OK(cudaGraphLaunch(exec, a));
  OK(cudaStreamSynchronize(a));
  EXPECT(host(x, 1)[0] == 62); /* ((6 + 1) 2 + 1) 2 ... */
  OK(cudaEventRecord(e, a)), OK(cudaEventSynchronize(e)), OK(cudaEventElapsedTime(&ms, e, e));
  EXPECT(std::isnan(ms));
  OK(cudaGraphExecDestroy(exec)), OK(cudaGraphDestroy(g)), OK(cudaEventDestroy(e)), OK(cudaStreamDestroy(a)),
      OK(cudaStreamDestroy(b)), OK(cudaFreeHost(pinned)), OK(cudaFree(x));
}

/* A recording that forks: both branches come after what was recorded before, and before what follows the join;
 * between them any order is drawn. A branch that is not joined is refused. */
static __global__ void append(int *digits, int *count, int digit) { digits[(*count)++] = digit; }
static void branches(void) {
  int *digits = device<int>(4), *count = device<int>(1);
  cudaStream_t a, b;
  cudaEvent_t forked, joined;
  cudaGraph_t g;
  cudaGraphExec_t exec;
  bool seen[2] = {false, false};
  OK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking)), OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
  OK(cudaEventCreate(&forked)), OK(cudaEventCreate(&joined));
  for (int join = 0; join < 2; join++) {
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    OK(cudaMemsetAsync(count, 0, 4, a));
    OK(CUDA_LAUNCH(append, 1, 1, 0, a, digits, count, 1));
    OK(cudaEventRecord(forked, a)), OK(cudaStreamWaitEvent(b, forked));
    OK(CUDA_LAUNCH(append, 1, 1, 0, b, digits, count, 2));
    OK(CUDA_LAUNCH(append, 1, 1, 0, a, digits, count, 3));
    OK(cudaEventRecord(joined, b));
    if (join) OK(cudaStreamWaitEvent(a, joined));
    OK(CUDA_LAUNCH(append, 1, 1, 0, a, digits, count, 4));
    EXPECT(cudaStreamEndCapture(a, &g) == (join ? cudaSuccess : cudaErrorStreamCaptureUnjoined));
    (void)cudaGetLastError();
  }
  EXPECT(cudaStreamWaitEvent(b, joined) == cudaErrorInvalidValue); /* that capture is over */
  (void)cudaGetLastError();
  OK(cudaGraphInstantiate(&exec, g, 0));
  for (int i = 0; i < 50; i++) {
    OK(cudaGraphLaunch(exec, a)), OK(cudaStreamSynchronize(a));
    const std::vector<int> order = host(digits, 4);
    EXPECT(order[0] == 1 && order[1] + order[2] == 5 && order[3] == 4);
    seen[order[1] == 2] = true;
  }
  EXPECT(seen[0] && seen[1]);
  OK(cudaGraphExecDestroy(exec)), OK(cudaGraphDestroy(g)), OK(cudaEventDestroy(forked)), OK(cudaEventDestroy(joined));
  OK(cudaStreamDestroy(a)), OK(cudaStreamDestroy(b)), OK(cudaFree(digits)), OK(cudaFree(count));
}

int main(void) {
  streams(), branches();
  printf("%d failed\n", failures);
  return failures != 0;
}
