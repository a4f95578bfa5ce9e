// walle.features: what is kept of the events of keys.
#include "container/host/feature_scope.h"
#include "container/host/host_calls.h"
#include "container/host/slots.h"
#include "vm/convert.h"

namespace walle::container::host {

Result<Value> features_get_call(TaskContext& context, HostArgs args) {
  const FeatureScope* scope = context.room(kFeaturesSlot);
  if (scope == nullptr)
    return resource_error("a task without an event log", "a device that runs it", "walle.features.get",
                          "install the task on a device, or run it with `walle task test`");
  WALLE_ASSIGN(const std::string_view name, vm::text_arg(args, 0));
  const Value keys = vm::incoming(args[1]);
  const auto* list = keys.get<List>();
  if (list == nullptr)
    return argument_error("keys that are no list", "a list of keys", "walle.features.get",
                          "pass [key] for one")
        .of_kind(base::ErrorKind::wrong_type);
  WALLE_ASSIGN(List values, scope->get(name, *list));
  return Value(std::move(values));
}

}  // namespace walle::container::host
