// Commit frame: one frame of a device's redo journal as bytes and back (docs/reference/formats/commits.md).
#pragma once

#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "container/host/pending_event.h"
#include "store/state_map.h"
#include "store/table_row.h"
#include "stream/egress/outbox.h"
#include "stream/egress/permit.h"

namespace walle::container {

// Numbers are stored: new ones are added behind.
enum class FrameKind : uint8_t {
  commit = 1,       // what a finished firing leaves
  acknowledge = 2,  // records of a stream have arrived
};

// Beside a send's priority: the package whose question it is follows its bytes.
inline constexpr uint8_t kAsks = 0x80;

struct FrameRows {
  store::TableRowsView rows;
  uint64_t first = 0;  // number of the first of them
};

struct FrameSend {
  const stream::Permit* permit = nullptr;
  uint64_t seq = 0;  // in its stream
};

// What is to be written; borrows all of it.
struct FrameOut {
  std::string_view task;
  uint64_t number = 0;
  std::vector<FrameRows> rows;
  std::vector<FrameSend> sends;
  std::vector<store::StateChange> state;
  std::span<const RecordedEvent> events;
  uint64_t after = 0;  // number of the log's newest event, where there are any
  // A firing that waits to be tried again, or no more: its number, and Retries::pack() or nothing. 0: none.
  uint64_t retried = 0;
  std::string_view retry;
};

// Puts a commit through `w`, which has put(number) and copy(bytes, size): into a journal's ring with its
// checksum on the way, into a string, or to know the size (FrameSize).
template <class Writer>
void put_frame(const FrameOut& f, Writer& w) {
  const auto text = [&](std::string_view bytes) {
    w.put(static_cast<uint32_t>(bytes.size()));
    w.copy(bytes.data(), bytes.size());
  };
  w.put(static_cast<uint8_t>(FrameKind::commit));
  text(f.task);
  w.put(f.number);
  w.put(static_cast<uint32_t>(f.rows.size()));
  for (const FrameRows& r : f.rows) {
    text(r.rows.table);
    w.put(r.first);
    w.put(r.rows.rows);
    w.put(r.rows.columns);
    text(r.rows.bytes);
  }
  w.put(static_cast<uint32_t>(f.sends.size()));
  for (const FrameSend& s : f.sends) {
    text(s.permit->stream);
    w.put(s.seq);
    const bool asks = !s.permit->package.empty();
    w.put(static_cast<uint8_t>(s.permit->priority | (asks ? kAsks : 0)));
    w.put(s.permit->entry.ts);
    w.put(s.permit->entry.rows);
    text(s.permit->entry.task);
    text(s.permit->entry.feature);
    text(s.permit->bytes);
    if (asks) text(s.permit->package);
  }
  w.put(static_cast<uint32_t>(f.state.size()));
  for (const store::StateChange& c : f.state) {
    text(c.map);
    text(c.key);
    w.put(static_cast<uint8_t>(c.value.has_value()));
    if (c.value) text(*c.value);
  }
  w.put(static_cast<uint32_t>(f.events.size()));
  if (!f.events.empty()) w.put(f.after);
  for (const RecordedEvent& e : f.events) {
    text(e.event);
    w.put(e.ts);
    text(e.fields);
  }
  if (f.retried == 0) return;
  w.put(f.retried);
  text(f.retry);
}

class FrameSize {
 public:
  template <base::FixedWidth T>
  void put(T) {
    size_ += sizeof(T);
  }
  void copy(const void*, size_t size) { size_ += size; }
  size_t size() const { return size_; }

 private:
  size_t size_ = 0;
};

class FrameText {
 public:
  template <base::FixedWidth T>
  void put(T value) {
    out_.put(value);
  }
  void copy(const void* from, size_t size) { out_.put_bytes({static_cast<const char*>(from), size}); }
  std::string take() { return out_.take(); }

 private:
  base::ByteWriter out_;
};

std::string acknowledge_frame(std::string_view stream, uint64_t seq);

// A frame as it was read; rows and texts borrow from its bytes.
struct FrameIn {
  FrameKind kind = FrameKind::commit;
  std::string_view task;    // of a commit
  uint64_t number = 0;      // of the firing; of what was acknowledged
  std::string_view stream;  // of acknowledge
  std::vector<FrameRows> rows;
  struct Send {
    uint64_t seq = 0;
    stream::Permit permit;
  };
  std::vector<Send> sends;
  std::vector<store::StateChange> state;
  std::vector<RecordedEvent> events;
  uint64_t after = 0;
  uint64_t retried = 0;
  std::string_view retry;
};
// False: bytes that none of the above writes.
bool read_frame(std::string_view bytes, FrameIn& out);

}  // namespace walle::container
