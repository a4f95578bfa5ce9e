// TaskContext: what host calls find behind the isolate that calls them.
//
// A room that lends host calls keeps what belongs to one task in a slot of its own: the VM knows the slots by
// number, the rooms by type (container/host/slots.h names them all). Used by the isolate's own thread.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "vm/attention.h"
#include "vm/log_quota.h"

namespace walle::vm {

class Bundle;

inline constexpr size_t kContextSlots = 10;

// Where a room keeps its T.
template <class T>
struct Slot {
  size_t number;  // below kContextSlots
};

struct TaskContext {
  std::function<void(base::LogLevel, std::string_view)> log;  // from the thread that runs the task

  // nullptr: nobody has set it.
  template <class T>
  T* room(Slot<T> slot) const {
    return static_cast<T*>(rooms[slot.number].get());
  }
  template <class T>
  void set(Slot<T> slot, std::shared_ptr<T> state) {
    rooms[slot.number] = std::move(state);
  }

  // What the isolate was given and what its calls have made since; a reset goes back to what was given.
  std::array<std::shared_ptr<void>, kContextSlots> rooms;

  // Filled in by the isolate itself.
  std::vector<std::shared_ptr<const Bundle>> bundles;
  LogQuota log_quota;
  Attention* attention = nullptr;  // of the call that runs; nullptr: nobody
};

}  // namespace walle::vm
