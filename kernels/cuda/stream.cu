/* SPDX-License-Identifier: BSD-3-Clause */
/* The order of the device's work: its streams, copies in them, recordings. */
#include "kernels/cuda/stream.h"

#include "kernels/cuda/cuda.cuh"

/* Blocks that wait in FIRST streams are started before those that wait in LAST ones, the least urgent that there
 * are. */
enum { FIRST = -1, LAST = 0 };

/* stream: where kernels and copies are issued to: streams[0], but between fork and join. The others are made when
 * they are first asked for, that of RB_BACKGROUND less urgent. fork_event: what they begin behind; ends: the last of
 * each. forked: how many there are now, beside the background. */
static cudaStream_t stream, streams[RB_STREAMS + 1];
static cudaEvent_t fork_event, ends[RB_STREAMS + 1];
static int forked = 1, in_background;

static rb_status make_stream(int k) {
  rb_status st = RB_OK;
  RB_CUDA_TRY(cudaStreamCreateWithPriority(&streams[k], cudaStreamNonBlocking, k == RB_BACKGROUND ? LAST : FIRST));
done:
  return st;
}

extern "C" cudaStream_t rb_cuda_stream(void) { return stream; }

extern "C" rb_status rb_cuda_open_stream(void) {
  const rb_status st = make_stream(0);
  stream = streams[0];
  return st;
}

extern "C" rb_status rb_cuda_upload_later(void *dst, const void *host, size_t bytes) {
  rb_status st = RB_OK;
  RB_CUDA_TRY(cudaMemcpyAsync(dst, host, bytes, cudaMemcpyHostToDevice, stream));
done:
  return st;
}
extern "C" rb_status rb_cuda_download_later(void *host, const void *src, size_t bytes) {
  rb_status st = RB_OK;
  RB_CUDA_TRY(cudaMemcpyAsync(host, src, bytes, cudaMemcpyDeviceToHost, stream));
done:
  return st;
}
/* Locks the pages of the caller's memory: the bus reads and writes them by itself. */
extern "C" rb_status rb_cuda_pin(void *host, size_t bytes) {
  rb_status st = RB_OK;
  RB_CUDA_TRY(cudaHostRegister(host, bytes, cudaHostRegisterDefault));
done:
  return st;
}
extern "C" void rb_cuda_unpin(void *host) { cudaHostUnregister(host); }

/* Between begin and end the stream's work becomes nodes of a graph. Only calls of this thread are held to the
 * rules. */
extern "C" rb_status rb_cuda_record_begin(void) {
  rb_status st = RB_OK;
  RB_CUDA_TRY(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
done:
  return st;
}
/* On failure *recording is NULL, and the caller launches its work one by one. */
extern "C" rb_status rb_cuda_record_end(void **recording) {
  rb_status st = RB_OK;
  cudaGraph_t graph = NULL;
  cudaGraphExec_t exec = NULL;
  *recording = NULL;
  RB_CUDA_TRY(cudaStreamEndCapture(stream, &graph));
  /* The executable graph is all that replay needs; the graph that it was made from goes. */
  /* A node keeps the urgency of the stream that it was issued to. */
  RB_CUDA_TRY(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagUseNodePriority));
  *recording = exec;
done:
  if (graph) cudaGraphDestroy(graph);
  return st;
}
/* One launch of the recorded graph, in order with the stream's other work. */
extern "C" rb_status rb_cuda_replay(void *recording) {
  rb_status st = RB_OK;
  RB_CUDA_TRY(cudaGraphLaunch((cudaGraphExec_t)recording, stream));
done:
  return st;
}
extern "C" void rb_cuda_drop(void *recording) {
  if (recording) cudaGraphExecDestroy((cudaGraphExec_t)recording);
}

/* Whether stream k, not the first, is one of `count`, or the background where it is asked for. */
static int is_of(int k, int count, int background) { return k == RB_BACKGROUND ? background : k < count; }
static rb_status make_streams(int count, int background) {
  rb_status st = RB_OK;
  if (!fork_event) RB_CUDA_TRY(cudaEventCreateWithFlags(&fork_event, cudaEventDisableTiming));
  for (int k = 1; k <= RB_STREAMS; k++) {
    if (!is_of(k, count, background)) continue;
    if (!streams[k]) RB_TRY(make_stream(k));
    if (!ends[k]) RB_CUDA_TRY(cudaEventCreateWithFlags(&ends[k], cudaEventDisableTiming));
  }
done:
  return st;
}
extern "C" rb_status rb_cuda_fork(int count, int background) {
  rb_status st = RB_OK;
  RB_CHECK(count >= 1 && count <= RB_STREAMS && forked == 1 && !in_background, RB_EINVAL, "%d streams within %d",
           count, forked);
  RB_TRY(make_streams(count, background));
  RB_CUDA_TRY(cudaEventRecord(fork_event, stream));
  for (int k = 1; k <= RB_STREAMS; k++)
    if (is_of(k, count, background)) RB_CUDA_TRY(cudaStreamWaitEvent(streams[k], fork_event, 0));
  forked = count, in_background = background;
done:
  return st;
}
extern "C" void rb_cuda_choose_stream(int k) { stream = streams[k]; }
/* Also after a failure in one of them: a recording must not end with one left open. */
extern "C" rb_status rb_cuda_join(void) {
  rb_status st = RB_OK;
  const int count = forked, background = in_background;
  forked = 1, in_background = 0;
  if (count > 1 || background) stream = streams[0];
  for (int k = 1; k <= RB_STREAMS; k++) {
    if (!is_of(k, count, background)) continue;
    RB_CUDA_TRY(cudaEventRecord(ends[k], streams[k]));
    RB_CUDA_TRY(cudaStreamWaitEvent(stream, ends[k], 0));
  }
done:
  return st;
}
