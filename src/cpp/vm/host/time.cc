// walle.time: the host's clocks.
#include <chrono>

#include "vm/host_calls.h"

namespace walle::vm::host {

Result<Value> time_monotonic_call(TaskContext& /*context*/, HostArgs /*args*/) {
  return Value(std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

Result<Value> time_now_call(TaskContext& /*context*/, HostArgs /*args*/) {
  return Value(std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count());
}

Result<Value> time_resolution_call(TaskContext& /*context*/, HostArgs /*args*/) {
  using Period = std::chrono::steady_clock::period;
  return Value(static_cast<double>(Period::num) / static_cast<double>(Period::den));
}

}  // namespace walle::vm::host
