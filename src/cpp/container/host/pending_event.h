// PendingEvent: an event that a commit records: durable in the commit's frame, and on its way into the event
// log, where it is there once. EventRecorder: that way.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace walle::container {

// What a firing leaves of it.
struct RecordedEvent {
  std::string event;
  int64_t ts = 0;      // us
  std::string fields;  // encode_value() of a map, with the types that the event declares
};

struct PendingEvent {
  // Of the frame, and its place in it: greater than that of every event before, and what tells after a crash
  // whether the log has it.
  int64_t id = 0;
  uint64_t after = 0;  // number of the log's newest event when it was committed, or a smaller one
  RecordedEvent event;
};

// A field of every event that tasks record, which they do not see: the id.
inline constexpr const char* kRecordField = "_record";
// Of one frame: ids of a frame have so much room.
inline constexpr size_t kMaxFrameEvents = 1024;

class EventRecorder {
 public:
  virtual ~EventRecorder() = default;
  virtual uint64_t newest() const = 0;  // number of the log's newest event
  virtual Status append(const PendingEvent& event) = 0;
  virtual Status sync() = 0;
};

}  // namespace walle::container
