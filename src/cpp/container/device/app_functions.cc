#include "container/device/app_functions.h"

#include <chrono>
#include <condition_variable>
#include <optional>
#include <system_error>
#include <thread>

#include "base/names.h"
#include "base/nearest_name.h"
#include "container/device/clock.h"
#include "container/device/in_callback.h"

namespace walle::container {

namespace {
// How late a task that is cancelled meanwhile notices it.
constexpr int64_t kLookUs = 10'000;
}  // namespace

struct AppFunctions::Provided {
  explicit Provided(AppFunction given) : function(std::move(given)) {}

  AppFunction function;
  std::atomic<int> forsaken = 0;
};

// Held by who waits and by the thread that runs it, and by whichever is the last.
struct AppFunctions::Call {
  std::shared_ptr<Provided> provided;
  vm::List arguments;
  std::mutex lock;
  std::condition_variable done;
  bool begun = false, forsaken = false;
  std::optional<Result<vm::Value>> answer;

  bool begin() {
    const std::lock_guard guard(lock);
    begun = !forsaken;
    return begun;
  }

  void run(const void* device) {
    if (!begin()) return;
    const InCallback mark(device);
    Result<vm::Value> made = made_by(provided->function);
    const std::lock_guard guard(lock);
    if (forsaken) --provided->forsaken;
    answer = std::move(made);
    done.notify_all();
  }

  // Nothing of ours throws, but an application in C++ may: the thread would end the process.
  Result<vm::Value> made_by(const AppFunction& function) {
    try {
      return function(arguments);
    } catch (const std::exception& error) {
      return task_error(std::string(error.what()), "a function that returns", "", "see the application");
    }
  }

  // With the lock: nobody waits any more.
  void forsake() {
    forsaken = true;
    if (begun) ++provided->forsaken;
  }

  // The lock is let go of while it waits.
  Status wait(std::unique_lock<std::mutex>& guard, uint32_t wall_ms, const AskTime& time) {
    const int64_t own_end = steady_us() + int64_t{wall_ms} * 1000;
    while (!answer) {
      const int64_t now = steady_us(), phase_end = time.end_us;
      const bool over = time.cancelled || (phase_end != 0 && now >= phase_end);
      if (over || now >= own_end) forsake();
      if (over) return cancelled_error("a task that is stopped while it waits", "");
      if (forsaken)
        return timeout_error({"no answer within ", wall_ms, " ms"}, "one within wall_ms of [app]", "",
                             "allow more time, or let the application's function return sooner");
      const int64_t until = std::min(own_end, phase_end != 0 ? phase_end : own_end);
      done.wait_for(guard, std::chrono::microseconds(std::min(kLookUs, until - now)));
    }
    return answer->status();
  }
};

Status AppFunctions::provide(const std::string& name, AppFunction function) {
  WALLE_TRY(base::check_name(base::NameKind::function, name, "Device.provide"));
  // Another one than before: calls of that, which may never return, are not its own.
  auto made = function ? std::make_shared<Provided>(std::move(function)) : nullptr;
  const bool withdraws = made == nullptr;
  const std::lock_guard guard(lock_);
  if (closed_)
    return argument_error("a closed device", "an open one", "Device.provide", "open the folder again");
  const auto found = functions_.find(name);
  if (withdraws && found == functions_.end()) return {};
  if (functions_.size() >= kMostNames && found == functions_.end())
    return argument_error({"function '", name, "' as number ", kMostNames + 1}, {"at most ", kMostNames},
                          "Device.provide", "provide one that does more");
  // What was there goes without the lock: its end may run code of the application.
  functions_[name].swap(made);
  if (withdraws) functions_.erase(name);
  return {};
}

void AppFunctions::close() {
  std::map<std::string, std::shared_ptr<Provided>> gone;
  const std::lock_guard guard(lock_);
  closed_ = true;
  functions_.swap(gone);
}

Result<std::shared_ptr<AppFunctions::Provided>> AppFunctions::find(const std::string& name) const {
  const std::lock_guard guard(lock_);
  const auto found = functions_.find(name);
  if (found != functions_.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, _] : functions_) names.push_back(known);
  return argument_error({"function '", name, "', which the application does not provide"},
                        "one that it has given to Device.provide", "",
                        base::did_you_mean(name, names, "provide it when the device is opened"))
      .of_kind(base::ErrorKind::not_found);
}

Status AppFunctions::start(const std::shared_ptr<Call>& call) const {
  if (call->provided->forsaken >= kMostForsaken)
    return resource_error({kMostForsaken, " calls under way that nobody waits for any more"},
                          "fewer of one function", "", "let the application's function return in time");
  try {
    std::thread([call, device = device_] { call->run(device); }).detach();
  } catch (const std::system_error&) {
    return resource_error("no thread for it", "one thread for each call", "", "try again later");
  }
  return {};
}

Result<vm::Value> AppFunctions::ask(const CallSpec& spec, vm::List arguments, const AskTime& time) {
  auto call = std::make_shared<Call>();
  WALLE_ASSIGN(call->provided, find(spec.function));
  call->arguments = std::move(arguments);
  WALLE_TRY(start(call));
  std::unique_lock guard(call->lock);
  WALLE_TRY(call->wait(guard, spec.limits.wall_ms, time));
  if (!is_of(**call->answer, spec.returns))
    return task_error({"an answer of type ", type_name_of(**call->answer)},
                      {call_type_name(spec.returns), ", which [app] says that it returns"}, "",
                      "correct one of both");
  return *std::move(*call->answer);
}

}  // namespace walle::container
