// walle.app: functions of the application that [app] of task.toml declares.
#include "container/host/app_scope.h"
#include "container/host/host_calls.h"
#include "container/host/slots.h"
#include "vm/convert.h"

namespace walle::container::host {

Result<Value> app_call_call(TaskContext& context, HostArgs args) {
  AppScope* scope = context.room(kAppSlot);
  if (scope == nullptr)
    return argument_error("a task without an application", "a device, whose application it can call",
                          "walle.app", "run the task on a device")
        .of_kind(base::ErrorKind::not_found);
  WALLE_ASSIGN(const std::string_view name, vm::text_arg(args, 0));
  Value given = vm::incoming(args[1]);
  List* list = std::get_if<List>(&given.data);
  return scope->ask(std::string(name), list == nullptr ? List() : std::move(*list));
}

}  // namespace walle::container::host
