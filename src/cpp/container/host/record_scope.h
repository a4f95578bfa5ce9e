// RecordScope: walle.record of one task: events that the running firing records, and leaves with its commit:
// they are in the event log exactly when the firing is done.
//
// A task that its own events trigger would never end: what it may record is bounded per firing and per UTC
// day, and beyond that a call fails, and with it, unless it is caught, the firing.
//
// Asked by the isolate's own thread; take(), resume() and forget() between two calls.
#pragma once

#include "container/host/firing_state.h"
#include "container/host/pending_event.h"
#include "stream/event/catalog.h"

namespace walle::container {

// The map of what tasks have recorded today: a name that no task has.
inline constexpr const char* kRecordsMap = "+records";

class RecordScope {
 public:
  struct Limits {
    size_t per_firing = 0;
    uint64_t per_day = 0;
  };

  RecordScope(std::shared_ptr<store::StateMap> map, std::string task, std::vector<stream::EventDecl> events,
              Limits limits, FiringState::Clock clock);

  // `fields`: {name: value}; a field that is left out or None is absent.
  Status record(const std::string& event, const vm::Map& fields);

  std::vector<RecordedEvent> take() { return std::exchange(events_, {}); }
  void resume(std::vector<RecordedEvent> events) { events_ = std::move(events); }
  void forget() { events_.clear(); }
  // How many the day has with `more`, as bytes of the map under the task's name.
  std::string count_with(size_t more) const;

 private:
  Result<const stream::EventDecl*> find(const std::string& event) const;
  uint64_t today() const;

  std::shared_ptr<store::StateMap> map_;
  std::string task_;
  std::vector<stream::EventDecl> declared_;
  Limits limits_;
  FiringState::Clock clock_;
  std::vector<RecordedEvent> events_;
};

}  // namespace walle::container
