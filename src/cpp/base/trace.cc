#include "base/trace.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "base/utf8.h"

namespace walle::base {

namespace trace_detail {
std::atomic<bool> on{false};
}

namespace {
// Memory for 1,000 threads of a few events each, or a few with full buffers; what comes behind is dropped.
constexpr size_t kMostThreads = 1024;
constexpr size_t kMostEvents = 1 << 24;  // of one thread
constexpr size_t kMostNames = 4096;

// Told apart by their durations, so that an event stays half a cache line.
constexpr int64_t kCounter = -1;
constexpr int64_t kWait = -2;

struct Event {
  const char* name;
  int64_t start_ns;
  int64_t duration_ns;  // of a span; kCounter; of a wait kWait less the nanoseconds
  int64_t value;
};

// Written by one thread. Events below `count` do not change any more: whoever reads it with acquire may read
// them, beside a writer that has not yet seen the recording's end.
struct Buffer {
  uint64_t recording = 0;
  uint32_t id = 0;
  std::string thread;
  size_t capacity = 0;
  // Not filled with zeros: pages that are never used are never taken.
  std::unique_ptr<Event[]> events;
  std::atomic<size_t> count{0};
  std::atomic<uint64_t> dropped{0};
};

// Everything below is made when it is first needed and never destroyed: threads may outlive main().
struct Recorder {
  std::mutex lock;
  std::atomic<uint64_t> recording{0};  // counts them: a buffer of an earlier one is left alone
  bool running = false;
  int64_t start_ns = 0;
  size_t events_per_thread = 0;
  std::vector<std::shared_ptr<Buffer>> buffers;
  std::atomic<uint64_t> dropped{0};  // of threads without a buffer
  std::set<std::string, std::less<>> names;
};

Recorder& recorder() {
  static Recorder* const made = new Recorder;
  return *made;
}

struct ThisThread {
  std::shared_ptr<Buffer> buffer;
  std::string name;
};
thread_local ThisThread this_thread;

std::string thread_name() {
  if (!this_thread.name.empty()) return this_thread.name;
  constexpr size_t kSystemName = 64;
  char name[kSystemName] = {};
  if (pthread_getname_np(pthread_self(), name, sizeof name) != 0) return "thread";
  return valid_utf8(name) ? name : "thread";
}

// The thread's buffer of this recording; nullptr where there are too many.
Buffer* own_buffer() {
  Recorder& r = recorder();
  Buffer* const known = this_thread.buffer.get();
  if (known && known->recording == r.recording.load(std::memory_order_acquire)) return known;
  const std::lock_guard guard(r.lock);
  if (!r.running || r.buffers.size() >= kMostThreads) return nullptr;
  auto made = std::make_shared<Buffer>();
  made->recording = r.recording.load(std::memory_order_relaxed);
  made->id = static_cast<uint32_t>(r.buffers.size()) + 1;
  made->thread = thread_name();
  made->capacity = r.events_per_thread;
  made->events.reset(new Event[made->capacity]);
  r.buffers.push_back(made);
  this_thread.buffer = std::move(made);
  return this_thread.buffer.get();
}

void add(const Event& event) {
  Buffer* const b = own_buffer();
  if (!b) {
    recorder().dropped.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const size_t at = b->count.load(std::memory_order_relaxed);
  if (at == b->capacity) {
    b->dropped.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  b->events[at] = event;
  b->count.store(at + 1, std::memory_order_release);
}

void put_text(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < ' ') {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
      out += escaped;
    } else {
      out += c;
    }
  }
  out += '"';
}

// Microseconds since the recording began, as the format wants them.
void put_us(std::string& out, int64_t ns) {
  char text[40];
  std::snprintf(text, sizeof text, "%" PRId64 ".%03" PRId64, ns / 1000, ns % 1000);
  out += text;
}

void put_metadata(std::string& out, const char* kind, uint32_t thread, std::string_view name) {
  out += R"({"name":")" + std::string(kind) + R"(","ph":"M","pid":1,"tid":)" + std::to_string(thread) +
         R"(,"args":{"name":)";
  put_text(out, name);
  out += "}}";
}

// One half of a nestable asynchronous event; its address tells it from the others of its name.
void put_wait_end(std::string& out, const Event& e, uint32_t thread, int64_t at_ns, bool begin) {
  out += R"(,{"name":)";
  put_text(out, e.name);
  out += R"(,"cat":"wait","pid":1,"tid":)" + std::to_string(thread);
  out += R"(,"id":")" + std::to_string(reinterpret_cast<uintptr_t>(&e)) + R"(","ph":")";
  out += begin ? "b" : "e";
  out += R"(","ts":)";
  put_us(out, std::max(at_ns, int64_t{0}));
  if (begin && e.value != kNoTraceValue) out += R"(,"args":{"value":)" + std::to_string(e.value) + "}";
  out += "}";
}

void put_event(std::string& out, const Event& e, uint32_t thread, int64_t start_ns) {
  if (e.duration_ns <= kWait) {
    const int64_t begin = e.start_ns - start_ns;
    put_wait_end(out, e, thread, begin, true);
    put_wait_end(out, e, thread, begin + kWait - e.duration_ns, false);
    return;
  }
  const bool counter = e.duration_ns == kCounter;
  out += R"(,{"name":)";
  put_text(out, e.name);
  out += counter ? R"(,"ph":"C","pid":1,"tid":)" : R"(,"ph":"X","pid":1,"tid":)";
  out += std::to_string(thread) + R"(,"ts":)";
  // A span that began before the recording is cut there.
  const int64_t begin = std::max(e.start_ns - start_ns, int64_t{0});
  put_us(out, begin);
  if (!counter) {
    out += R"(,"dur":)";
    put_us(out, std::max(e.start_ns + e.duration_ns - start_ns - begin, int64_t{0}));
  }
  if (e.value != kNoTraceValue) out += R"(,"args":{"value":)" + std::to_string(e.value) + "}";
  out += "}";
}
}  // namespace

int64_t trace_detail::now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void trace_detail::span(const char* name, int64_t start_ns, int64_t value) {
  if (!trace_enabled()) return;
  const int64_t duration = now_ns() - start_ns;
  add({.name = name, .start_ns = start_ns, .duration_ns = duration, .value = value});
}

void trace_detail::wait(const char* name, int64_t start_ns, int64_t value) {
  const int64_t waited = std::max(now_ns() - start_ns, int64_t{0});
  add({.name = name, .start_ns = start_ns, .duration_ns = kWait - waited, .value = value});
}

void trace_detail::counter(const char* name, int64_t value) {
  add({.name = name, .start_ns = now_ns(), .duration_ns = kCounter, .value = value});
}

const char* trace_name(std::string_view name) {
  Recorder& r = recorder();
  const std::lock_guard guard(r.lock);
  auto found = r.names.find(name);
  if (found != r.names.end()) return found->c_str();
  if (r.names.size() >= kMostNames || !valid_utf8(name)) return "(other)";
  return r.names.emplace(name).first->c_str();  // nodes of a set stay where they are
}

void name_trace_thread(std::string_view name) {
  if (!valid_utf8(name)) return;
  this_thread.name = name;
  const std::lock_guard guard(recorder().lock);
  if (this_thread.buffer) this_thread.buffer->thread = name;
}

Status start_trace(TraceOptions options) {
  if (options.events_per_thread == 0 || options.events_per_thread > kMostEvents)
    return argument_error({options.events_per_thread, " events per thread"}, {"1 to ", kMostEvents}, "trace",
                          "use 65536");
  Recorder& r = recorder();
  const std::lock_guard guard(r.lock);
  if (r.running)
    return argument_error("a second recording", "one at a time in a process", "trace",
                          "end the one under way first");
  r.running = true;
  r.buffers.clear();
  r.dropped = 0;
  r.events_per_thread = options.events_per_thread;
  r.recording.fetch_add(1, std::memory_order_release);
  r.start_ns = trace_detail::now_ns();
  trace_detail::on.store(true, std::memory_order_release);
  return {};
}

Result<std::string> stop_trace(TraceSummary* summary) {
  Recorder& r = recorder();
  const std::lock_guard guard(r.lock);
  if (!r.running) return argument_error("no recording", "one that was started", "trace", "start it first");
  trace_detail::on.store(false, std::memory_order_release);
  r.running = false;
  TraceSummary all{.dropped = r.dropped.load(), .threads = static_cast<uint32_t>(r.buffers.size())};
  std::string out = R"({"traceEvents":[)";
  put_metadata(out, "process_name", 0, "walle_rt");
  for (const auto& b : r.buffers) {
    out += ',';
    put_metadata(out, "thread_name", b->id, b->thread);
    const size_t count = b->count.load(std::memory_order_acquire);
    all.events += count;
    all.dropped += b->dropped.load();
    std::vector<Event> events(b->events.get(), b->events.get() + count);
    // Spans come when they end; readers want what holds others before them.
    std::ranges::stable_sort(events, [](const Event& a, const Event& c) {
      return a.start_ns != c.start_ns ? a.start_ns < c.start_ns : a.duration_ns > c.duration_ns;
    });
    for (const Event& e : events) put_event(out, e, b->id, r.start_ns);
  }
  out += R"(],"displayTimeUnit":"ms","otherData":{"dropped":")" + std::to_string(all.dropped) + R"("}})";
  r.buffers.clear();
  if (summary) *summary = all;
  return out;
}

}  // namespace walle::base
