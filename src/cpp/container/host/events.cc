// walle.record: events of a task's own.
#include "container/host/host_calls.h"
#include "container/host/record_scope.h"
#include "container/host/slots.h"
#include "vm/convert.h"

namespace walle::container::host {

Result<Value> events_record_call(TaskContext& context, HostArgs args) {
  RecordScope* scope = context.room(kRecordSlot);
  if (scope == nullptr)
    return resource_error("a task without an event log", "a device that runs it", "walle.record",
                          "install the task on a device, or run it with `walle task test`");
  WALLE_ASSIGN(const std::string_view event, vm::text_arg(args, 0));
  Value fields{Map()};
  if (vm::has_arg(args, 1)) fields = vm::incoming(args[1]);
  const Map* map = fields.get<Map>();
  if (map == nullptr)
    return argument_error("fields that are no dict", "{field: value}", "walle.record",
                          "name the value of each field")
        .of_kind(base::ErrorKind::wrong_type);
  WALLE_TRY(scope->record(std::string(event), *map));
  return Value();
}

}  // namespace walle::container::host
