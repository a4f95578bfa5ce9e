// walle.params: what the application or the release has set of what task.toml declares.
#include "container/host/params.h"

#include "container/host/host_calls.h"
#include "container/host/slots.h"

namespace walle::container::host {

Result<Value> params_values_call(TaskContext& context, HostArgs /*args*/) {
  const ParamScope* scope = context.room(kParamsSlot);
  return Value(scope != nullptr && scope->values != nullptr ? *scope->values : Map());
}

}  // namespace walle::container::host
