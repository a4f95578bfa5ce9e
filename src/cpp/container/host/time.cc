// walle.time: the host's clocks.
#include <chrono>

#include "container/host/host_calls.h"

namespace walle::container::host {

double time_monotonic_call(TaskContext& /*context*/, HostArgs /*args*/) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double time_now_call(TaskContext& /*context*/, HostArgs /*args*/) {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

double time_resolution_call(TaskContext& /*context*/, HostArgs /*args*/) {
  using Period = std::chrono::steady_clock::period;
  return static_cast<double>(Period::num) / static_cast<double>(Period::den);
}

}  // namespace walle::container::host
