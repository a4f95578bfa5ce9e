#include "vm/host_calls.h"

#include <algorithm>
#include <cstring>

#include "vm/convert.h"

namespace walle::vm {

namespace {

// What an answer points to until the VM has converted it.
struct Held {
  Value value;
  BoundaryBuilder boundary;
};

wvm_error_kind kind_of(const Error& error) {
  switch (error.kind()) {
    case base::ErrorKind::wrong_type: return WVM_TYPE_ERROR;
    case base::ErrorKind::no_such_key: return WVM_KEY_ERROR;
    case base::ErrorKind::no_such_index: return WVM_INDEX_ERROR;
    case base::ErrorKind::overflow: return WVM_OVERFLOW_ERROR;
    case base::ErrorKind::no_memory: return WVM_MEMORY_ERROR;
    case base::ErrorKind::by_group: break;
  }
  switch (error.group()) {
    case base::ErrorGroup::argument:
    case base::ErrorGroup::model: return WVM_VALUE_ERROR;
    case base::ErrorGroup::resource:
    case base::ErrorGroup::network: return WVM_OS_ERROR;
    default: return WVM_RUNTIME_ERROR;
  }
}

int deliver(double answer, const char* /*name*/, wvm_host_result* result) {
  result->value.kind = WVM_FLOAT;
  result->value.as.real = answer;
  return 0;
}

int deliver(Result<Value> answer, const char* name, wvm_host_result* result) {
  if (!answer.ok()) [[unlikely]] {
    Error error = answer.take_error();
    if (!error.text().where.starts_with(name)) error.within(name);
    tell(error, &result->error);
    // The isolate collects its garbage, which may hold tensors and models, and asks once more.
    result->exhausted = error.group() == base::ErrorGroup::resource;
    return -1;
  }
  // Most answers; nothing is allocated for them.
  if (answer->is_scalar()) {
    BoundaryBuilder boundary;
    result->value = visit(*answer, boundary);
    return 0;
  }
  auto* held = new Held{std::move(answer).value(), {}};
  result->value = visit(held->value, held->boundary);
  result->state = held;
  result->free_result = [](void* state) { delete static_cast<Held*>(state); };
  return 0;
}

template <auto kCall>
int adapt(void* user, const wvm_value* args, size_t count, const char* name, wvm_host_result* result) {
  return deliver(kCall(*static_cast<TaskContext*>(user), {args, count}), name, result);
}

void forward_log(void* user, int level, const char* text, size_t size) {
  auto* context = static_cast<TaskContext*>(user);
  context->log_quota.send(context->log, static_cast<base::LogLevel>(level), {text, size});
}

int must_stop(void* user) {
  const auto* context = static_cast<TaskContext*>(user);
  return context != nullptr && context->attention != nullptr && context->attention->must_stop();
}

wvm_tensor* allocate_tensor(uint8_t dtype, uint8_t rank, const int64_t* shape) {
  Result<Tensor> tensor =
      Tensor::allocate(static_cast<DType>(dtype), Shape(std::span<const int64_t>(shape, rank)));
  return tensor.ok() ? lend(std::move(tensor).value()) : nullptr;
}

#define WALLE_HOST_CALL(result, module, name, min_args, max_args, blocking, doc)                     \
  {"walle." #module,                                                                                 \
   #name,                                                                                            \
   doc,                                                                                              \
   min_args,                                                                                         \
   max_args,                                                                                         \
   blocking,                                                                                         \
   [](void* user, const wvm_value* args, size_t count, wvm_host_result* out) {                       \
     return adapt<host::module##_##name##_call>(user, args, count, "walle." #module "." #name, out); \
   }},
const wvm_host_function kFunctions[] = {
#include "vm/host_calls.inc"
};
#undef WALLE_HOST_CALL

const wvm_host kHost = {.log = forward_log,
                        .allocate_tensor = allocate_tensor,
                        .arrays = &host::kArrays,
                        .must_stop = must_stop,
                        .functions = kFunctions,
                        .function_count = std::size(kFunctions)};

Error wrong_argument(HostArgs args, size_t index, const char* expected) {
  static constexpr const char* kKinds[] = {"None",  "bool", "int", "float",  "str",
                                           "bytes", "list", "map", "tensor", "memoryview"};
  return argument_error("argument " + std::to_string(index + 1) + " of type " + kKinds[args[index].kind],
                        expected, "", "pass " + std::string(expected))
      .of_kind(base::ErrorKind::wrong_type);
}

}  // namespace

void tell(const Error& error, wvm_error* out) {
  std::string message = error.message();
  std::replace(message.begin(), message.end(), '\0', '?');  // names come from tasks
  out->kind = kind_of(error);
  std::strncpy(out->text, message.c_str(), sizeof out->text - 1);
  out->text[sizeof out->text - 1] = 0;
}

const wvm_host* host_table() { return &kHost; }

Result<std::string_view> text_arg(HostArgs args, size_t index) {
  if (args[index].kind != WVM_STR) return wrong_argument(args, index, "a str");
  return std::string_view(args[index].as.text, args[index].size);
}

Result<double> number_arg(HostArgs args, size_t index) {
  if (args[index].kind == WVM_FLOAT) return args[index].as.real;
  if (args[index].kind == WVM_INT) return static_cast<double>(args[index].as.integer);
  return wrong_argument(args, index, "a number");
}

Result<std::vector<uint8_t>> allowed_host_calls(const std::vector<std::string>& names) {
  std::vector<uint8_t> flags(std::size(kFunctions));
  for (const std::string& name : names) {
    bool known = false;
    for (size_t i = 0; i < flags.size(); ++i) {
      const std::string module = kFunctions[i].module;
      if (name != module && name != module + "." + kFunctions[i].name) continue;
      flags[i] = 1;
      known = true;
    }
    if (!known) {
      return argument_error("host call '" + name + "'",
                            "a host call as walle.kv.get or a module of them as walle.kv",
                            "Limits, host_calls", "see walle task vm for all of them");
    }
  }
  return flags;
}

std::vector<std::string> host_call_names() {
  std::vector<std::string> names;
  for (const wvm_host_function& f : kFunctions) names.push_back(std::string(f.module) + "." + f.name);
  return names;
}

}  // namespace walle::vm
