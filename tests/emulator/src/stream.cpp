/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams, events and graphs. What is issued waits in its stream until somebody waits for it: then the stream is run
 * up to there. Streams that wait for each other's events run the other one as far as they need; others come along at
 * random, as on a device where they share it. */
#include "internal.h"

#include <cmath>

struct emulated_graph {
  std::vector<std::function<void()>> work;
};
struct emulated_stream {
  struct item {
    std::function<void()> work;
    uint64_t ticket;
  };
  std::deque<item> queue;
  uint64_t issued = 0, done = 0; /* tickets */
  bool blocking = true;          /* waits for the default stream's work, and it for this one's */
  emulated_graph *capture = nullptr;
};
struct emulated_event {
  emulated_stream *stream = nullptr;
  uint64_t ticket = 0; /* of the stream: done once all up to it is */
  bool timed = true;
};

namespace emulated {

static emulated_stream default_stream;
static std::vector<emulated_stream *> streams = {&default_stream};
static emulated_stream *of(cudaStream_t s) { return s ? s : &default_stream; }

static void run_one(emulated_stream *s) {
  emulated_stream::item i = std::move(s->queue.front());
  s->queue.pop_front();
  watch_device(true);
  i.work();
  watch_device(false);
  s->done = i.ticket;
}
static void run_up_to(emulated_stream *s, uint64_t ticket) {
  while (s->done < ticket && !s->queue.empty()) {
    if (streams.size() > 2 && draw(4) == 3) { /* somebody else's work first */
      emulated_stream *other = streams[draw((uint32_t)streams.size())];
      if (other != s && !other->queue.empty()) {
        run_one(other);
        continue;
      }
    }
    run_one(s);
  }
}

static void push(emulated_stream *s, std::function<void()> work) {
  s->queue.push_back({std::move(work), ++s->issued});
}
/* Work of `s` that waits for all that `other` has now. */
static void wait_for(emulated_stream *s, emulated_stream *other) {
  const uint64_t ticket = other->issued;
  if (other->done >= ticket) return;
  push(s, [other, ticket]() { run_up_to(other, ticket); });
}

/* Of what has run: what the watching build reported ends one call with an error, and the program goes on. */
static cudaError_t outcome() {
  if (watch_reported() && sticky == cudaSuccess) return cudaErrorLaunchFailure;
  return sticky;
}

cudaError_t enqueue(cudaStream_t stream, std::function<void()> work) {
  if (sticky != cudaSuccess) return sticky;
  if (in_kernel()) return fail_call(cudaErrorNotSupported, "a kernel calls the runtime");
  emulated_stream *s = of(stream);
  if (s->capture) {
    s->capture->work.push_back(std::move(work));
    return cudaSuccess;
  }
  if (s == &default_stream) {
    for (emulated_stream *other : streams)
      if (other != s && other->blocking) wait_for(s, other);
  } else if (s->blocking) {
    wait_for(s, &default_stream);
  }
  push(s, std::move(work));
  return cudaSuccess;
}

cudaError_t run_through(cudaStream_t stream) {
  emulated_stream *s = of(stream);
  if (s->capture)
    return fail_call(cudaErrorStreamCaptureUnsupported, "a stream that is being captured is waited for");
  run_up_to(s, s->issued);
  return outcome();
}

void run_everything() {
  if (in_kernel()) return;
  for (emulated_stream *s : streams) run_up_to(s, s->issued);
}

}  // namespace emulated

using namespace emulated;

extern "C" {
cudaError_t cudaDeviceSynchronize(void) {
  for (emulated_stream *s : streams)
    if (s->capture)
      return fail_call(cudaErrorStreamCaptureUnsupported,
                       "the device is waited for while a stream is being captured");
  run_everything();
  return outcome();
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags) {
  *out = new emulated_stream();
  (*out)->blocking = !(flags & cudaStreamNonBlocking);
  streams.push_back(*out);
  return cudaSuccess;
}
cudaError_t cudaStreamCreate(cudaStream_t *out) { return cudaStreamCreateWithFlags(out, cudaStreamDefault); }
cudaError_t cudaStreamDestroy(cudaStream_t s) {
  if (!s) return last_error = cudaErrorInvalidResourceHandle;
  run_up_to(s, s->issued);
  streams.erase(std::find(streams.begin(), streams.end(), s));
  delete s;
  return sticky;
}
cudaError_t cudaStreamSynchronize(cudaStream_t s) { return run_through(s); }
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  emulated_stream *s = of(stream);
  if (s->queue.empty()) return sticky;
  run_one(s); /* whoever polls sees it go on */
  return s->queue.empty() ? sticky : cudaErrorNotReady;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t e, unsigned) {
  emulated_stream *other = e->stream;
  const uint64_t ticket = e->ticket;
  return other ? enqueue(stream, [other, ticket]() { run_up_to(other, ticket); }) : cudaSuccess;
}
cudaError_t cudaLaunchHostFunc(cudaStream_t s, cudaHostFn_t f, void *context) {
  return enqueue(s, [f, context]() { f(context); });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags) {
  *out = new emulated_event();
  (*out)->timed = !(flags & cudaEventDisableTiming);
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t *out) { return cudaEventCreateWithFlags(out, cudaEventDefault); }
cudaError_t cudaEventDestroy(cudaEvent_t e) { return delete e, cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t stream) {
  emulated_stream *s = of(stream);
  if (s->capture) return cudaSuccess; /* a node of the graph, which orders nothing here */
  const cudaError_t code = enqueue(stream, []() {});
  e->stream = s, e->ticket = s->issued;
  return code;
}
cudaError_t cudaEventSynchronize(cudaEvent_t e) {
  if (e->stream) run_up_to(e->stream, e->ticket);
  return outcome();
}
cudaError_t cudaEventQuery(cudaEvent_t e) {
  if (!e->stream || e->stream->done >= e->ticket) return sticky;
  run_one(e->stream);
  return e->stream->done >= e->ticket ? sticky : cudaErrorNotReady;
}
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to) {
  *ms = NAN;
  if (!from->timed || !to->timed || !from->stream || !to->stream) return last_error = cudaErrorInvalidResourceHandle;
  if (from->stream->done < from->ticket || to->stream->done < to->ticket) return cudaErrorNotReady;
  return sticky;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t s, cudaStreamCaptureMode) {
  if (!s || s->capture) return fail_call(cudaErrorStreamCaptureUnsupported, "this stream cannot be captured");
  s->capture = new emulated_graph();
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *out) {
  *out = s->capture;
  s->capture = nullptr;
  return *out ? cudaSuccess : last_error = cudaErrorStreamCaptureInvalidated;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t g, unsigned long long) {
  return *out = new emulated_graph(*g), cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t g, cudaStream_t s) {
  for (const auto &work : g->work) {
    const cudaError_t e = enqueue(s, work);
    if (e != cudaSuccess) return e;
  }
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t g) { return delete g, cudaSuccess; }
cudaError_t cudaGraphDestroy(cudaGraph_t g) { return delete g, cudaSuccess; }
}
