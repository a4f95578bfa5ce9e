// walle.timers: one-off timers that a task sets.
#include "container/host/host_calls.h"
#include "container/host/slots.h"
#include "container/host/timer_scope.h"
#include "vm/convert.h"

namespace walle::container::host {

namespace {
Result<TimerScope*> timers_of(const TaskContext& context) {
  if (TimerScope* scope = context.room(kTimersSlot)) return scope;
  return resource_error("a task without timers", "a device that runs it", "walle.timers",
                        "install the task on a device, or run it with `walle task test`");
}

Result<std::string_view> optional_text(HostArgs args, size_t index) {
  if (!vm::has_arg(args, index)) return std::string_view();
  return vm::text_arg(args, index);
}
}  // namespace

Result<Value> timers_after_call(TaskContext& context, HostArgs args) {
  WALLE_ASSIGN(TimerScope * scope, timers_of(context));
  double seconds = 0;
  if (args[0].kind == WVM_FLOAT) {
    seconds = args[0].as.real;
  } else {
    WALLE_ASSIGN(const int64_t whole, vm::int_arg(args, 0));
    seconds = static_cast<double>(whole);
  }
  WALLE_ASSIGN(const std::string_view name, vm::text_arg(args, 1));
  WALLE_ASSIGN(const std::string_view payload, optional_text(args, 2));
  WALLE_ASSIGN(const std::string_view key, optional_text(args, 3));
  WALLE_TRY(scope->after(seconds, std::string(name), payload, key));
  return Value();
}

Result<Value> timers_cancel_call(TaskContext& context, HostArgs args) {
  WALLE_ASSIGN(TimerScope * scope, timers_of(context));
  WALLE_ASSIGN(const std::string_view name, vm::text_arg(args, 0));
  WALLE_ASSIGN(const std::string_view key, optional_text(args, 1));
  WALLE_ASSIGN(const bool waited, scope->cancel(std::string(name), key));
  return Value(waited);
}

Result<Value> timers_list_call(TaskContext& context, HostArgs /*args*/) {
  WALLE_ASSIGN(const TimerScope* scope, timers_of(context));
  List out;
  for (TimerScope::Timer& t : scope->list())
    out.emplace_back(Map{{"name", Value(std::move(t.name))},
                         {"key", Value(std::move(t.key))},
                         {"due", Value(t.due)},
                         {"payload", Value(std::move(t.payload))}});
  return Value(std::move(out));
}

}  // namespace walle::container::host
