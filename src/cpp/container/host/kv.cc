// walle.kv: durable state of the task under keys, kept by the host.
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

Result<std::optional<double>> seconds_arg(HostArgs args, size_t index) {
  if (!vm::has_arg(args, index)) return std::optional<double>();
  if (args[index].kind == WVM_FLOAT) return std::optional<double>(args[index].as.real);
  WALLE_ASSIGN(const int64_t whole, vm::int_arg(args, index));
  return std::optional<double>(static_cast<double>(whole));
}

// Of keys() and items().
Result<TaskState::Range> range_of(HostArgs args) {
  TaskState::Range range;
  if (vm::has_arg(args, 0)) {
    WALLE_ASSIGN(const std::string_view prefix, vm::text_arg(args, 0));
    range.prefix = prefix;
  }
  if (vm::has_arg(args, 1)) {
    WALLE_ASSIGN(const std::string_view after, vm::text_arg(args, 1));
    range.after = std::string(after);
  }
  if (!vm::has_arg(args, 2)) return range;
  WALLE_ASSIGN(const int64_t limit, vm::int_arg(args, 2));
  if (limit < 0 || limit > static_cast<int64_t>(TaskState::kMostListed))
    return argument_error({"limit ", limit}, {"0 to ", TaskState::kMostListed}, "walle.kv",
                          "go on in a second call: after=the last key");
  range.limit = static_cast<size_t>(limit);
  return range;
}
}  // namespace

Result<Value> kv_get_call(TaskContext& context, HostArgs args) {
  WALLE_ASSIGN(TaskState * state, state_of(context));
  WALLE_ASSIGN(const std::string_view key, vm::text_arg(args, 0));
  return state->get(std::string(key), args.size() == 2 ? vm::incoming(args[1]) : Value());
}

Result<Value> kv_put_call(TaskContext& context, HostArgs args) {
  WALLE_ASSIGN(TaskState * state, state_of(context));
  WALLE_ASSIGN(const std::string_view key, vm::text_arg(args, 0));
  WALLE_ASSIGN(const std::optional<double> ttl_s, seconds_arg(args, 2));
  WALLE_TRY(state->put(std::string(key), vm::incoming(args[1]), ttl_s));
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
  WALLE_ASSIGN(const TaskState::Range range, range_of(args));
  WALLE_ASSIGN(std::vector<std::string> keys, state->keys(range));
  List list;
  for (std::string& key : keys) list.emplace_back(std::move(key));
  return Value(std::move(list));
}

Result<Value> kv_items_call(TaskContext& context, HostArgs args) {
  WALLE_ASSIGN(const TaskState* state, state_of(context));
  WALLE_ASSIGN(const TaskState::Range range, range_of(args));
  WALLE_ASSIGN(Map items, state->items(range));
  return Value(std::move(items));
}

}  // namespace walle::container::host
