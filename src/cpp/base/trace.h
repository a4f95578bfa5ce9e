// A recorder of what all threads did when: spans and counters, one file for Perfetto or chrome://tracing.
//
//   base::TraceSpan span("append");            // to the end of the block
//   base::trace_counter("queue", depth);
//
// Off, either costs one relaxed load of a variable that nobody writes. On, a thread writes into a buffer of
// its own without a lock: a span when it ends, so that a recording holds the spans that ended in it. Full
// buffers count what they drop. Names are literals, or trace_name() of a text: only addresses are kept.
//
// start_trace() and stop_trace() may be called from any thread; there is one recording at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace walle::base {

namespace trace_detail {
extern std::atomic<bool> on;
int64_t now_ns();
void span(const char* name, int64_t start_ns, int64_t value);
void wait(const char* name, int64_t start_ns, int64_t value);
void counter(const char* name, int64_t value);
}  // namespace trace_detail

inline bool trace_enabled() { return trace_detail::on.load(std::memory_order_relaxed); }

// A span's value where it has none.
inline constexpr int64_t kNoTraceValue = INT64_MIN;

class TraceSpan {
 public:
  // With one number of the caller's: a sequence number, a count of rows.
  explicit TraceSpan(const char* name, int64_t value = kNoTraceValue) {
    if (trace_enabled()) [[unlikely]] {
      name_ = name;
      value_ = value;
      start_ns_ = trace_detail::now_ns();
    }
  }
  ~TraceSpan() {
    if (name_) [[unlikely]]
      trace_detail::span(name_, start_ns_, value_);
  }
  // A number that is known only later.
  void set_value(int64_t value) { value_ = value; }
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;

 private:
  const char* name_ = nullptr;
  int64_t start_ns_ = 0;
  int64_t value_ = kNoTraceValue;
};

// The value of a track from now on.
inline void trace_counter(const char* name, int64_t value) {
  if (trace_enabled()) [[unlikely]]
    trace_detail::counter(name, value);
}

// A span that began elsewhere, as on a queue: `start_ns` from trace_clock() when it did.
inline int64_t trace_clock() { return trace_enabled() ? trace_detail::now_ns() : 0; }
inline void trace_since(const char* name, int64_t start_ns, int64_t value = kNoTraceValue) {
  if (trace_enabled() && start_ns != 0) [[unlikely]]
    trace_detail::span(name, start_ns, value);
}

// What waited in a queue until now. It has a track of its own: on this thread's it would overlap with what
// the thread did meanwhile.
inline void trace_wait(const char* name, int64_t start_ns, int64_t value = kNoTraceValue) {
  if (trace_enabled()) [[unlikely]]
    trace_detail::wait(name, start_ns, value);
}

// An address that stays: names that are made while the program runs (a node's, a task's). The first 4,096
// different ones; all others share one. Asked only while trace_enabled().
const char* trace_name(std::string_view name);

// Names this thread in recordings from now on. Without it, it is called as the system calls it.
void name_trace_thread(std::string_view name);

struct TraceOptions {
  size_t events_per_thread = 65'536;  // 32 bytes each, taken as they are used
};

struct TraceSummary {
  uint64_t events = 0, dropped = 0;
  uint32_t threads = 0;
};

// An error where a recording is under way.
Status start_trace(TraceOptions options = {});
// Ends the recording and gives it as JSON in Chrome's trace event format; an error where there is none.
Result<std::string> stop_trace(TraceSummary* summary = nullptr);

}  // namespace walle::base
