// A recorder of what all threads did when: spans and counters, one file for Perfetto or chrome://tracing.
//
//   base::TraceSpan span("append");            // to the end of the block
//   base::trace_counter("queue", depth);
//
// Off, either costs one relaxed load of a variable that no one writes. On, a thread writes into a ring of its
// own without a lock; full rings count what they drop. Names are literals: only their addresses are kept.
//
// start and stop: any thread, one recording at a time. Events that begin before start() or end behind stop()
// are left out or cut at the ends.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace walle::base {

namespace trace_detail {
extern std::atomic<bool> on;
void begin(const char* name, int64_t value, bool valued);
void end(const char* name);
void counter(const char* name, int64_t value);
}  // namespace trace_detail

inline bool trace_enabled() { return trace_detail::on.load(std::memory_order_relaxed); }

class TraceSpan {
 public:
  explicit TraceSpan(const char* name) {
    if (trace_enabled()) [[unlikely]]
      start(name, 0, false);
  }
  // With one number of the caller's: a sequence number, a count of rows.
  TraceSpan(const char* name, int64_t value) {
    if (trace_enabled()) [[unlikely]]
      start(name, value, true);
  }
  ~TraceSpan() {
    if (name_) [[unlikely]]
      trace_detail::end(name_);
  }
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;

 private:
  void start(const char* name, int64_t value, bool valued) {
    name_ = name;
    trace_detail::begin(name, value, valued);
  }
  const char* name_ = nullptr;
};

// The value of a track from now on.
inline void trace_counter(const char* name, int64_t value) {
  if (trace_enabled()) [[unlikely]]
    trace_detail::counter(name, value);
}

// Names this thread in recordings, kept until the thread ends. Copies `name`; cheap enough to call always.
void trace_thread_name(std::string_view name);

struct TraceOptions {
  size_t events_per_thread = 65'536;  // 32 bytes each; what comes behind them is counted and dropped
};

struct TraceSummary {
  uint64_t events = 0, dropped = 0;
  uint32_t threads = 0;
};

// An error where a recording is under way.
Status start_trace(TraceOptions options = {});
// Ends the recording and gives it as JSON in Chrome's trace event format.
Result<std::string> stop_trace(TraceSummary* summary = nullptr);

}  // namespace walle::base
