// Host calls: native functions that tasks may call as walle.<module>.<name>.
//
// The VM lends what Vm::open() is given and has none of its own; the product's are container/host/. A host
// call is a function
//
//   Result<Value> f(TaskContext& context, HostArgs args);     // or double, where it cannot fail (12 ns, not
//   15)
//
// that is called on the thread that runs the task. Its error is the exception that kind_of_exception() says,
// with the whole message, however long.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "vm/abi.h"
#include "vm/context.h"
#include "vm/value.h"

namespace walle::vm {

using HostArgs = std::span<const wvm_value>;

// A function that tasks may import: host_call() makes it. The boundary's own struct, so that a table of them
// crosses as it is; it and what it names live as long as the process.
using HostCall = wvm_host_function;

// What a VM lends to its tasks; alike for whoever opens it, as long as the process lives.
struct HostCalls {
  std::span<const HostCall> functions;
  const wvm_arrays* arrays = nullptr;  // what walle.Tensor computes with
};

// How many arguments a host call takes, and what they are called: an optional one that is left out before one
// that is given is None.
struct HostParameters {
  uint16_t least = 0;
  uint16_t most = 0;                      // at most 16
  const char* const* keywords = nullptr;  // `most` names; nullptr: by position alone
};

// The exception that a task gets for the error.
wvm_error_kind kind_of_exception(const Error& error);
// The error as the boundary's: its text is free()d by whoever gets it.
void tell(const Error& error, wvm_error* out);

// Argument readers: the value, or an argument error that names the position.
Result<std::string_view> text_arg(HostArgs args, size_t index);
Result<int64_t> int_arg(HostArgs args, size_t index);
// Whether the argument was given, and not as None.
inline bool has_arg(HostArgs args, size_t index) {
  return index < args.size() && args[index].kind != WVM_NONE;
}

// Answers of host calls on their way into the task.
inline int deliver(double answer, const HostCall& /*call*/, wvm_host_result* result) {
  result->value.kind = WVM_FLOAT;
  result->value.as.real = answer;
  return 0;
}
int deliver(Result<Value> answer, const HostCall& call, wvm_host_result* result);

template <auto kFunction>
int call_host(const wvm_host_function* self, void* context, const wvm_value* args, size_t count,
              wvm_host_result* result) {
  return deliver(kFunction(*static_cast<TaskContext*>(context), {args, count}), *self, result);
}

// host_call<kv_get>("walle.kv", "get", {1, 2, kNames}, false, "get(key, default=None) -> ..."). `blocking`:
// the interpreter is released around the call, for about 0.1 us.
template <auto kFunction>
constexpr HostCall host_call(const char* module, const char* name, HostParameters parameters, bool blocking,
                             const char* doc) {
  return {.module = module,
          .name = name,
          .doc = doc,
          .keywords = parameters.keywords,
          .min_args = parameters.least,
          .max_args = parameters.most,
          .blocking = blocking,
          .call = call_host<kFunction>};
}

}  // namespace walle::vm
