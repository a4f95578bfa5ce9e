#include "container/device/timers.h"

#include <algorithm>

#include "container/device/task_events.h"
#include "container/host/value_codec.h"

namespace walle::container {

Result<std::unique_ptr<Timers>> Timers::open(Commits& commits) {
  WALLE_ASSIGN(std::shared_ptr<store::StateMap> map, commits.maps().open(kTimersMap));
  return std::unique_ptr<Timers>(new Timers(commits, std::move(map)));
}

// Asked ten times a second, and a map of timers changes seldom.
std::optional<int64_t> Timers::next_due() const {
  const std::lock_guard lock(lock_);
  const uint64_t version = map_->version();
  if (version == known_version_) return due_;
  known_version_ = version;
  due_.reset();
  map_->each("", [&](const std::string&, const std::string& value) {
    const int64_t due = TimerScope::due_of(value);
    due_ = due_ ? std::min(*due_, due) : due;
    return true;
  });
  return due_;
}

Status Timers::fire(int64_t now_us, int64_t ts) {
  const std::lock_guard lock(firing_);
  struct Due {
    int64_t at = 0;
    std::string key, value;
  };
  std::vector<Due> all;
  map_->each("", [&](const std::string& key, const std::string& value) {
    const int64_t at = TimerScope::due_of(value);
    if (at <= now_us) all.push_back({at, key, value});
    return true;
  });
  std::ranges::stable_sort(all, {}, &Due::at);
  for (const Due& due : all) WALLE_TRY(fire(due.key, due.value, ts));
  return {};
}

Status Timers::fire(const std::string& key, const std::string& value, int64_t ts) {
  const TimerScope::Timer timer = TimerScope::timer_of(key, value);
  const vm::Map fields = {{"task", vm::Value(timer.task)},
                          {"name", vm::Value(timer.name)},
                          {"key", vm::Value(timer.key)},
                          {"payload", vm::Value(timer.payload)}};
  Commit commit;
  commit.state.push_back({kTimersMap, key, std::nullopt});
  commit.events.push_back({.event = kTimerEvent, .ts = ts, .fields = *encode_value(vm::Value(fields))});
  // A firing may have set it anew, or cancelled it, since it was looked at.
  commit.only_if = Commit::Change{kTimersMap, key, value};
  const Result<uint64_t> committed = commits_.commit(commit);
  if (!committed.ok() && committed.error().group() == base::ErrorGroup::argument) return {};
  return committed.status();
}

Status Timers::drop(const std::string& task) {
  Commit commit;
  const std::string prefix = task + "/";
  map_->each(prefix, [&](const std::string& key, const std::string&) {
    if (!key.starts_with(prefix)) return false;
    commit.state.push_back({kTimersMap, key, std::nullopt});
    return true;
  });
  return commit.state.empty() ? Status() : commits_.commit(commit).status();
}

}  // namespace walle::container
