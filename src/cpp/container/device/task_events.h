// TaskEvents: events that tasks record, from the commits into the event log: each once, whatever crashes
// between. Its id goes along as a field, so that the log itself says which of them it has.
#pragma once

#include "container/device/commits.h"
#include "stream/processor/processor.h"

namespace walle::container {

class TaskEvents final : public EventRecorder {
 public:
  explicit TaskEvents(stream::Processor& processor) : processor_(processor) {}

  uint64_t newest() const override { return processor_.log().last_seq(); }
  Status append(const PendingEvent& event) override;
  Status sync() override { return processor_.log().sync(); }
  // The greatest id of an event behind number `after`; 0: none.
  Result<int64_t> newest_id(uint64_t after);

 private:
  struct Known {
    bool there = false;
    uint16_t id = 0;
    stream::EventDecl decl;
  };
  Result<Known> find(const std::string& name);

  stream::Processor& processor_;
};

// A timer that is due is an event, too: of the device's own, with a trigger for each timer that a task
// declares.
inline constexpr const char* kTimerEvent = "timer_due";
stream::EventDecl timer_event();
Result<stream::TriggerText> timer_trigger(const std::string& task, const std::string& timer);

}  // namespace walle::container
