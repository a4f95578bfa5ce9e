// Host calls of the product: what every VM is opened with.
//
// Adding one: a function in container/host/<module>.cc and one entry in host_calls.inc.
#pragma once

#include <string>
#include <vector>

#include "vm/host_call.h"

namespace walle::container {

// Vm::open(path, host_calls()); lives as long as the process.
const vm::HostCalls& host_calls();
// "walle.kv.get" ...
std::vector<std::string> host_call_names();

namespace host {
using vm::HostArgs;
using vm::List;
using vm::Map;
using vm::TaskContext;
using vm::Value;

extern const wvm_arrays kArrays;  // container/host/arrays.cc
#define WALLE_HOST_CALL(result, module, name, ...) \
  result module##_##name##_call(TaskContext& context, HostArgs args);
#include "container/host/host_calls.inc"
#undef WALLE_HOST_CALL
}  // namespace host

}  // namespace walle::container
