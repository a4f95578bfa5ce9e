// Retries: firings that failed and wait to be tried again, by task and number.
//
// Part of the commits: the frame of an attempt puts a firing in or takes it out together with what else the
// attempt leaves, and checkpoints keep the rest in commits.wals. What take() gave stays here until such a
// frame, so that it is there after a crash, but is not given again meanwhile. Thread-safe.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "stream/processor/task_firing.h"

namespace walle::container {

struct Retry {
  stream::TaskFiring firing;  // with the number of the attempt that is to come
  int64_t due_us = 0;         // since 1970
  int64_t delay_us = 0;       // that led to it: one that is further away is due, because the clock was set
};

// In place of a number: all of a task's.
inline constexpr uint64_t kAllRetries = UINT64_MAX;

class Retries {
 public:
  // As a frame and the state have it (docs/reference/formats/commits.md).
  static std::string pack(const Retry& retry);
  // What such bytes say becomes of the firing; none: it waits no more. False: bytes that pack() does not
  // write.
  bool change(std::string_view task, uint64_t number, std::string_view packed);

  // The one that is due first, if any is.
  std::optional<Retry> take(std::string_view task, int64_t now_us);
  bool due(std::string_view task, int64_t now_us) const;
  // How many there are, and when the next of those that were not taken is due.
  struct Waiting {
    size_t count = 0;
    std::optional<int64_t> next_us;
  };
  Waiting waiting(std::string_view task) const;
  std::set<std::string> tasks() const;
  // visit(task, number, packed) of each.
  template <class Visit>
  void each(const Visit& visit) const {
    const std::lock_guard lock(lock_);
    for (const auto& [task, entries] : tasks_)
      for (const auto& [number, entry] : entries) visit(task, number, pack(entry.retry));
  }

 private:
  struct Entry {
    Retry retry;
    bool taken = false;
    bool due(int64_t now_us) const {
      // 0: a recording whose time is not known yet.
      return !taken && now_us > 0 && (now_us >= retry.due_us || retry.due_us - now_us > retry.delay_us);
    }
  };
  using Entries = std::map<uint64_t, Entry>;
  const Entries* find(std::string_view task) const;
  const Entry* next(std::string_view task, int64_t now_us) const;

  mutable std::mutex lock_;
  std::map<std::string, Entries, std::less<>> tasks_;
  // Of triggers: firings point to them, also behind their last entry. As few as versions of tasks have had.
  std::set<std::string, std::less<>> names_;
};

}  // namespace walle::container
