/* SPDX-License-Identifier: BSD-3-Clause */
/* The order of the device's work: its stream, copies in it, recordings, lanes that run side by side. */
#include "kernels/cuda/stream.h"

#include "kernels/cuda/cuda.cuh"

/* The stream that kernels and copies are issued to: the first of the lanes, but between fork and join. The others are
 * made when they are first asked for. fork_event: where the lanes begin; lane_events: where each ends. */
static cudaStream_t stream, lane_streams[RB_LANES];
static cudaEvent_t fork_event, lane_events[RB_LANES];
static int lanes_forked = 1;

extern "C" cudaStream_t rb_cuda_stream(void) { return stream; }

extern "C" rb_status rb_cuda_open_stream(void) {
  rb_status st = RB_OK;
  RB_CUDA_TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  lane_streams[0] = stream;
done:
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
  RB_CUDA_TRY(cudaGraphInstantiate(&exec, graph, 0));
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

static rb_status make_lanes(int lanes) {
  rb_status st = RB_OK;
  if (!fork_event) RB_CUDA_TRY(cudaEventCreateWithFlags(&fork_event, cudaEventDisableTiming));
  for (int k = 1; k < lanes; k++) {
    if (!lane_streams[k]) RB_CUDA_TRY(cudaStreamCreateWithFlags(&lane_streams[k], cudaStreamNonBlocking));
    if (!lane_events[k]) RB_CUDA_TRY(cudaEventCreateWithFlags(&lane_events[k], cudaEventDisableTiming));
  }
done:
  return st;
}
extern "C" rb_status rb_cuda_fork(int lanes) {
  rb_status st = RB_OK;
  RB_CHECK(lanes >= 1 && lanes <= RB_LANES && lanes_forked == 1, RB_EINVAL, "%d lanes within %d", lanes,
           lanes_forked);
  RB_TRY(make_lanes(lanes));
  RB_CUDA_TRY(cudaEventRecord(fork_event, stream));
  for (int k = 1; k < lanes; k++) RB_CUDA_TRY(cudaStreamWaitEvent(lane_streams[k], fork_event, 0));
  lanes_forked = lanes;
done:
  return st;
}
extern "C" void rb_cuda_lane(int k) { stream = lane_streams[k]; }
/* Also after a failure in a lane: a recording must not end with one left open. */
extern "C" rb_status rb_cuda_join(void) {
  rb_status st = RB_OK;
  const int lanes = lanes_forked;
  lanes_forked = 1;
  if (lanes > 1) stream = lane_streams[0];
  for (int k = 1; k < lanes; k++) {
    RB_CUDA_TRY(cudaEventRecord(lane_events[k], lane_streams[k]));
    RB_CUDA_TRY(cudaStreamWaitEvent(stream, lane_events[k], 0));
  }
done:
  return st;
}
