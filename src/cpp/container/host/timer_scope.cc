#include "container/host/timer_scope.h"

#include <algorithm>
#include <cmath>

#include "base/names.h"
#include "base/nearest_name.h"

namespace walle::container {

namespace {
constexpr size_t kTimerHead = 2 * sizeof(int64_t);  // never expires; due

// The map's own bounds are the tasks' together.
constexpr FiringState::Limits kNoLimits = {.bytes = store::kMaxStateMapBytes, .keys = 1 << 24};
}  // namespace

TimerScope::TimerScope(std::shared_ptr<store::StateMap> map, std::string task, std::vector<std::string> names,
                       size_t most, FiringState::Clock clock)
    : state_(std::move(map), kNoLimits, clock),
      task_(std::move(task)),
      names_(std::move(names)),
      most_(most),
      clock_(std::move(clock)) {}

Status TimerScope::check_name(const std::string& name) const {
  if (std::ranges::find(names_, name) != names_.end()) return {};
  return argument_error({"timer ", base::shown_name(name)}, {"one that task '", task_, "' declares"},
                        "walle.timers", base::did_you_mean(name, names_, "add it to [timers] names"))
      .of_kind(base::ErrorKind::no_such_key);
}

std::string TimerScope::key_of(const std::string& name, std::string_view key) const {
  return (task_ + "/").append(name).append("/").append(key);
}

Status TimerScope::after(double seconds, const std::string& name, std::string_view payload,
                         std::string_view key) {
  WALLE_TRY(check_name(name));
  if (!(seconds >= kLeastS) || seconds > kLongestS)
    return argument_error({"a timer after ", seconds, " s"}, "1 s to 366 days", "walle.timers.after",
                          "give seconds");
  if (payload.size() > kMostPayload || key.size() > kMostKey)
    return argument_error({"a payload of ", payload.size(), " bytes under a key of ", key.size()},
                          {"at most ", kMostPayload, " and ", kMostKey}, "walle.timers.after",
                          "keep the data in walle.kv, and give its key");
  const std::string at = key_of(name, key);
  if (!state_.has(at) && list().size() >= most_)
    return resource_error({"timer number ", most_ + 1}, {"at most ", most_, " that wait"},
                          "walle.timers.after", "cancel some, or raise [timers] most");
  base::ByteWriter out;
  out.put(int64_t{0});
  out.put(clock_() + static_cast<int64_t>(std::llround(seconds * 1e6)));
  out.put_bytes(payload);
  return state_.set_bytes(at, out.take());
}

Result<bool> TimerScope::cancel(const std::string& name, std::string_view key) {
  WALLE_TRY(check_name(name));
  return state_.erase(key_of(name, key));
}

std::vector<TimerScope::Timer> TimerScope::list() const {
  std::vector<Timer> out;
  state_.each_bytes(task_ + "/", [&](const std::string& key, const std::string& value) {
    if (!key.starts_with(task_ + "/")) return false;
    out.push_back(timer_of(key, value));
    return true;
  });
  std::ranges::stable_sort(out, {}, &Timer::due);
  return out;
}

int64_t TimerScope::due_of(std::string_view value) {
  return value.size() < kTimerHead ? 0 : base::load_le<int64_t>(value.data() + sizeof(int64_t));
}

// Neither a task's name nor a timer's has a slash.
TimerScope::Timer TimerScope::timer_of(std::string_view key, std::string_view value) {
  const size_t first = std::min(key.find('/'), key.size());
  const size_t second = std::min(key.find('/', first + 1), key.size());
  const auto behind = [&](size_t at) { return std::string(key.substr(std::min(at + 1, key.size()))); };
  Timer out{.task = std::string(key.substr(0, first)), .key = behind(second), .due = due_of(value)};
  out.name = behind(first).substr(0, second - std::min(first + 1, second));
  out.payload = value.substr(std::min(kTimerHead, value.size()));
  return out;
}

}  // namespace walle::container
