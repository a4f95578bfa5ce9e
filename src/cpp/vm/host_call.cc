#include "vm/host_call.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/unreached.h"
#include "vm/convert.h"

namespace walle::vm {

namespace {

// What an answer points to until the VM has converted it.
struct Held {
  Value value;
  BoundaryBuilder boundary;
};

Error wrong_argument(HostArgs args, size_t index, Text expected) {
  static constexpr const char* kKinds[] = {"None",  "bool", "int", "float",  "str",
                                           "bytes", "list", "map", "tensor", "memoryview"};
  return argument_error({"argument ", index + 1, " of type ", kKinds[args[index].kind]}, expected, "",
                        {"pass ", expected})
      .of_kind(base::ErrorKind::wrong_type);
}

}  // namespace

wvm_error_kind kind_of_exception(const Error& error) {
  switch (error.kind()) {
    case base::ErrorKind::wrong_type: return WVM_TYPE_ERROR;
    case base::ErrorKind::no_such_key: return WVM_KEY_ERROR;
    case base::ErrorKind::no_such_index: return WVM_INDEX_ERROR;
    case base::ErrorKind::overflow: return WVM_OVERFLOW_ERROR;
    case base::ErrorKind::no_memory: return WVM_MEMORY_ERROR;
    case base::ErrorKind::not_found: return WVM_LOOKUP_ERROR;
    case base::ErrorKind::no_such_file: return WVM_FILE_NOT_FOUND_ERROR;
    case base::ErrorKind::file_exists: return WVM_FILE_EXISTS_ERROR;
    case base::ErrorKind::not_permitted: return WVM_PERMISSION_ERROR;
    case base::ErrorKind::timed_out: return WVM_TIMEOUT_ERROR;
    case base::ErrorKind::not_connected: return WVM_CONNECTION_ERROR;
    case base::ErrorKind::not_supported: return WVM_NOT_IMPLEMENTED_ERROR;
    case base::ErrorKind::by_group: break;
  }
  switch (error.group()) {
    case base::ErrorGroup::argument:
    case base::ErrorGroup::model: return WVM_VALUE_ERROR;
    case base::ErrorGroup::resource: return WVM_OS_ERROR;
    case base::ErrorGroup::network: return WVM_CONNECTION_ERROR;
    case base::ErrorGroup::timeout: return WVM_TIMEOUT_ERROR;
    case base::ErrorGroup::backend:
    case base::ErrorGroup::task:
    case base::ErrorGroup::internal:
    case base::ErrorGroup::cancelled: return WVM_RUNTIME_ERROR;
  }
  return base::unreached(WVM_RUNTIME_ERROR);
}

void tell(const Error& error, wvm_error* out) {
  const std::string message = error.message();
  out->kind = kind_of_exception(error);
  out->text = static_cast<char*>(std::malloc(message.size() + 1));
  if (out->text == nullptr) return;
  // Names come from tasks: a zero would end the text.
  std::ranges::replace_copy(message, out->text, '\0', '?');
  out->text[message.size()] = 0;
}

int deliver(Result<Value> answer, const HostCall& call, wvm_host_result* result) {
  if (!answer.ok()) [[unlikely]] {
    Error error = answer.take_error();
    const std::string name = std::string(call.module) + "." + call.name;
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

Result<std::string_view> text_arg(HostArgs args, size_t index) {
  if (args[index].kind != WVM_STR) return wrong_argument(args, index, "a str");
  return std::string_view(args[index].as.text, args[index].size);
}

Result<int64_t> int_arg(HostArgs args, size_t index) {
  if (args[index].kind == WVM_INT) return args[index].as.integer;
  return wrong_argument(args, index, "an int");
}

}  // namespace walle::vm
