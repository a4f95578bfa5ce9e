#include "container/host/host_calls.h"

#include <iterator>

namespace walle::container {

namespace {

// The names of each call's parameters; an array of nothing is not allowed, hence the nullptr behind them.
#define WALLE_HOST_CALL(result, module, name, blocking, doc, least, ...) \
  constexpr const char* module##_##name##_names[] = {__VA_ARGS__ __VA_OPT__(, ) nullptr};
#include "container/host/host_calls.inc"
#undef WALLE_HOST_CALL

#define WALLE_HOST_CALL(result, module, name, blocking, doc, least, ...)                                 \
  vm::host_call<host::module##_##name##_call>(                                                           \
      "walle." #module, #name, {least, std::size(module##_##name##_names) - 1, module##_##name##_names}, \
      blocking, doc),
constexpr vm::HostCall kFunctions[] = {
#include "container/host/host_calls.inc"
};
#undef WALLE_HOST_CALL

constexpr vm::HostCalls kHostCalls = {.functions = kFunctions, .arrays = &host::kArrays};

}  // namespace

const vm::HostCalls& host_calls() { return kHostCalls; }

std::vector<std::string> host_call_names() {
  std::vector<std::string> names;
  for (const vm::HostCall& call : kFunctions) names.push_back(std::string(call.module) + "." + call.name);
  return names;
}

}  // namespace walle::container
