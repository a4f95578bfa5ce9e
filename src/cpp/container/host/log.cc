// walle.log: lines to the host, with a level. print() arrives as info, sys.stderr as error.
#include "container/host/host_calls.h"

namespace walle::container::host {

namespace {
Result<Value> send(TaskContext& context, HostArgs args, base::LogLevel level) {
  WALLE_ASSIGN(const std::string_view text, vm::text_arg(args, 0));
  context.log_quota.send(context.log, level, text);
  return Value();
}
}  // namespace

Result<Value> log_debug_call(TaskContext& context, HostArgs args) {
  return send(context, args, base::LogLevel::debug);
}
Result<Value> log_info_call(TaskContext& context, HostArgs args) {
  return send(context, args, base::LogLevel::info);
}
Result<Value> log_warning_call(TaskContext& context, HostArgs args) {
  return send(context, args, base::LogLevel::warning);
}
Result<Value> log_error_call(TaskContext& context, HostArgs args) {
  return send(context, args, base::LogLevel::error);
}

}  // namespace walle::container::host
