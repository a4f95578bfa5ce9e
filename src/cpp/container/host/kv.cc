// walle.kv: small durable state of the task, kept by the host.
#include "container/host/host_calls.h"
#include "container/host/slots.h"
#include "container/host/task_state.h"
#include "vm/convert.h"

namespace walle::container::host {

namespace {
Result<TaskState*> state_of(const TaskContext& context) {
  // No default in memory: a task that believes its state to be durable would lose it without a word.
  if (TaskState* state = context.room(kKvSlot)) return state;
  return resource_error("a task without durable state", "a state file given by the host", "walle.kv",
                        "create the isolate with state=PATH");
}
}  // namespace

Result<Value> kv_get_call(TaskContext& context, HostArgs args) {
  WALLE_ASSIGN(const TaskState* state, state_of(context));
  WALLE_ASSIGN(const std::string_view key, vm::text_arg(args, 0));
  return state->get(std::string(key), args.size() == 2 ? vm::incoming(args[1]) : Value());
}

Result<Value> kv_put_call(TaskContext& context, HostArgs args) {
  WALLE_ASSIGN(TaskState * state, state_of(context));
  WALLE_ASSIGN(const std::string_view key, vm::text_arg(args, 0));
  WALLE_TRY(state->put(std::string(key), vm::incoming(args[1])));
  return Value();
}

Result<Value> kv_delete_call(TaskContext& context, HostArgs args) {
  WALLE_ASSIGN(TaskState * state, state_of(context));
  WALLE_ASSIGN(const std::string_view key, vm::text_arg(args, 0));
  WALLE_ASSIGN(const bool there, state->erase(std::string(key)));
  return Value(there);
}

Result<Value> kv_keys_call(TaskContext& context, HostArgs args) {
  WALLE_ASSIGN(const TaskState* state, state_of(context));
  std::string prefix;
  if (vm::has_arg(args, 0)) {
    WALLE_ASSIGN(const std::string_view given, vm::text_arg(args, 0));
    prefix = given;
  }
  List list;
  for (std::string& key : state->keys(prefix)) list.emplace_back(std::move(key));
  return Value(std::move(list));
}

}  // namespace walle::container::host
