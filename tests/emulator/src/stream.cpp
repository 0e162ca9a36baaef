/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams, events and graphs. What is issued waits in its stream until somebody waits for it: then the stream is run
 * up to there. Streams that wait for each other's events run the other one as far as they need; others come along at
 * random, as on a device where they share it. */
#include "internal.h"

#include <cmath>

/* Nodes in the order in which they were captured: each comes after those that it waits for. */
struct emulated_graph {
  struct node {
    std::function<void()> work;
    std::vector<size_t> after;
  };
  std::vector<node> nodes;
  std::vector<emulated_stream *> captured; /* the stream that was begun with, then those that joined it */
};
struct emulated_stream {
  struct item {
    std::function<void()> work; /* none where it only waits */
    uint64_t ticket;
    emulated_stream *other; /* waits until this one has done `until`, or NULL */
    uint64_t until;
  };
  std::deque<item> queue;
  uint64_t issued = 0, done = 0; /* tickets */
  bool blocking = true;          /* waits for the default stream's work, and it for this one's */
  emulated_graph *capture = nullptr;
  std::vector<size_t> last; /* nodes that the next captured one comes after */
};
struct emulated_event {
  emulated_stream *stream = nullptr;
  uint64_t ticket = 0;               /* of the stream: done once all up to it is */
  emulated_graph *capture = nullptr; /* recorded in a capture: it orders this graph's nodes alone */
  std::vector<size_t> last;
  bool timed = true;
};

namespace emulated {

static emulated_stream default_stream;
static std::vector<emulated_stream *> streams = {&default_stream};
static emulated_stream *of(cudaStream_t s) { return s ? s : &default_stream; }

static bool is_ready(const emulated_stream *s) {
  if (s->queue.empty()) return false;
  const emulated_stream::item &i = s->queue.front();
  return !i.other || i.other->done >= i.until;
}
/* Of a stream that is ready. */
static void run_one(emulated_stream *s) {
  emulated_stream::item i = std::move(s->queue.front());
  s->queue.pop_front();
  watch_device(true);
  if (i.work) i.work();
  watch_device(false);
  s->done = i.ticket;
}
static void run_up_to(emulated_stream *s, uint64_t ticket) {
  while (s->done < ticket && !s->queue.empty()) {
    if (streams.size() > 2 && draw(4) == 3) { /* somebody else's work first */
      emulated_stream *other = streams[draw((uint32_t)streams.size())];
      if (other != s && is_ready(other)) {
        run_one(other);
        continue;
      }
    }
    if (is_ready(s))
      run_one(s);
    else
      run_up_to(s->queue.front().other, s->queue.front().until);
  }
}

static void push(emulated_stream *s, std::function<void()> work) {
  s->queue.push_back({std::move(work), ++s->issued, nullptr, 0});
}
/* What is issued to `s` from now on waits for what `other` has up to there. */
static void push_wait(emulated_stream *s, emulated_stream *other, uint64_t until) {
  if (other != s && other->done < until) s->queue.push_back({nullptr, ++s->issued, other, until});
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
    s->capture->nodes.push_back({std::move(work), std::move(s->last)});
    s->last = {s->capture->nodes.size() - 1};
    return cudaSuccess;
  }
  if (s == &default_stream) {
    for (emulated_stream *other : streams)
      if (other->blocking) push_wait(s, other, other->issued);
  } else if (s->blocking) {
    push_wait(s, &default_stream, default_stream.issued);
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

/* Whether all of the graph's nodes come before the end of the stream that was begun with. */
static bool is_joined(const emulated_graph *g) {
  std::vector<bool> before(g->nodes.size(), false);
  for (size_t i : g->captured[0]->last) before[i] = true;
  for (size_t i = g->nodes.size(); i-- > 0;)
    if (before[i])
      for (size_t j : g->nodes[i].after) before[j] = true;
  return std::find(before.begin(), before.end(), false) == before.end();
}
static void end_capture(emulated_graph *g) {
  for (emulated_stream *s : g->captured) s->capture = nullptr, s->last.clear();
}

/* The nodes in some order that their edges allow: at random, as nothing else is promised. */
static std::vector<size_t> some_order(const emulated_graph *g) {
  std::vector<size_t> order, ready, waits(g->nodes.size());
  std::vector<std::vector<size_t>> then(g->nodes.size());
  for (size_t i = 0; i < g->nodes.size(); i++) {
    waits[i] = g->nodes[i].after.size();
    for (size_t j : g->nodes[i].after) then[j].push_back(i);
    if (!waits[i]) ready.push_back(i);
  }
  while (!ready.empty()) {
    std::swap(ready[draw((uint32_t)ready.size())], ready.back());
    const size_t i = ready.back();
    ready.pop_back();
    order.push_back(i);
    for (size_t j : then[i])
      if (--waits[j] == 0) ready.push_back(j);
  }
  return order;
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
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *out, unsigned flags, int) {
  return cudaStreamCreateWithFlags(out, flags);
}
cudaError_t cudaStreamCreate(cudaStream_t *out) { return cudaStreamCreateWithFlags(out, cudaStreamDefault); }
cudaError_t cudaStreamDestroy(cudaStream_t s) {
  if (!s) return last_error = cudaErrorInvalidResourceHandle;
  run_up_to(s, s->issued);
  for (emulated_stream *other : streams)
    for (emulated_stream::item &i : other->queue)
      if (i.other == s) i.other = nullptr; /* has come */
  streams.erase(std::find(streams.begin(), streams.end(), s));
  delete s;
  return sticky;
}
cudaError_t cudaStreamSynchronize(cudaStream_t s) { return run_through(s); }
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  emulated_stream *s = of(stream);
  if (s->queue.empty()) return sticky;
  run_up_to(s, s->done + 1); /* whoever polls sees it go on */
  return s->queue.empty() ? sticky : cudaErrorNotReady;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t e, unsigned) {
  emulated_stream *s = of(stream), *other = e->stream;
  if (e->capture) { /* the stream joins the capture, if it is not part of it */
    if (std::none_of(streams.begin(), streams.end(), [e](emulated_stream *i) { return i->capture == e->capture; }))
      return fail_call(cudaErrorInvalidValue, "an event of a capture that has ended is waited for");
    if (s->capture && s->capture != e->capture)
      return fail_call(cudaErrorStreamCaptureUnsupported, "a captured stream waits for an event of another capture");
    if (!s->capture) e->capture->captured.push_back(s), s->capture = e->capture;
    s->last.insert(s->last.end(), e->last.begin(), e->last.end());
    return cudaSuccess;
  }
  if (s->capture && other)
    return fail_call(cudaErrorStreamCaptureUnsupported,
                     "a captured stream waits for an event outside of the capture");
  if (other) push_wait(s, other, e->ticket);
  return sticky;
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
  e->capture = s->capture;
  if (s->capture) return e->last = s->last, cudaSuccess;
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
  run_up_to(e->stream, e->stream->done + 1);
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
  s->capture->captured = {s};
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *out) {
  emulated_graph *g = s->capture;
  *out = nullptr;
  if (!g || g->captured[0] != s) return last_error = cudaErrorStreamCaptureInvalidated;
  const bool joined = is_joined(g);
  end_capture(g);
  if (joined) return *out = g, cudaSuccess;
  delete g;
  return fail_call(cudaErrorStreamCaptureUnjoined, "a capture ends before work that another stream added to it");
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t g, unsigned long long) {
  return *out = new emulated_graph(*g), cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t g, cudaStream_t s) {
  for (size_t i : some_order(g)) {
    const cudaError_t e = enqueue(s, g->nodes[i].work);
    if (e != cudaSuccess) return e;
  }
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t g) { return delete g, cudaSuccess; }
cudaError_t cudaGraphDestroy(cudaGraph_t g) { return delete g, cudaSuccess; }
}
