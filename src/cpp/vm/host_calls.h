// Host calls: native functions that tasks may call as walle.<module>.<name>.
//
// Adding one: a function in host/<module>.cc and one line in host_calls.inc.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "vm/abi.h"
#include "vm/context.h"
#include "vm/outcome.h"

namespace walle::vm {

using HostArgs = std::span<const wvm_value>;

// Argument readers: the value, or an argument error that names the position.
Result<std::string_view> text_arg(HostArgs args, size_t index);
Result<double> number_arg(HostArgs args, size_t index);

// What the task's exception is made of.
void tell(const Error& error, wvm_error* out);

// The table handed to the VM library; lives as long as the process.
const wvm_host* host_table();
// One flag per table entry: named as "walle.kv.get", or its whole module as "walle.kv". An unknown name is an
// error.
Result<std::vector<uint8_t>> allowed_host_calls(const std::vector<std::string>& names);
std::vector<std::string> host_call_names();

namespace host {
extern const wvm_arrays kArrays;  // host/arrays.cc
#define WALLE_HOST_CALL(result, module, name, min_args, max_args, blocking, doc) \
  result module##_##name##_call(TaskContext& context, HostArgs args);
#include "vm/host_calls.inc"
#undef WALLE_HOST_CALL
}  // namespace host

}  // namespace walle::vm
