#include "container/task/call_spec.h"

#include <array>

namespace walle::container {

namespace {

// What a value is.
struct TypeOf {
  CallType none() { return CallType::none; }
  CallType boolean(bool) { return CallType::boolean; }
  CallType integer(int64_t) { return CallType::integer; }
  CallType real(double) { return CallType::real; }
  CallType text(std::string_view) { return CallType::text; }
  CallType bytes(std::string_view) { return CallType::bytes; }
  CallType list(const vm::List&) { return CallType::list; }
  CallType map(const vm::Map&) { return CallType::map; }
  CallType tensor(const Tensor&) { return CallType::tensor; }
  CallType buffer(const Buffer&) { return CallType::bytes; }
};

CallType type_of(const vm::Value& value) {
  TypeOf of;
  return vm::visit(value, of);
}

std::string declared(const CallSpec& spec) {
  std::string out = "(";
  for (size_t i = 0; i < spec.arguments.size(); ++i)
    out.append(i == 0 ? "" : ", ").append(call_type_name(spec.arguments[i]));
  return out + ")";
}

}  // namespace

std::string_view call_type_name(CallType type) {
  constexpr std::array<std::string_view, kCallTypes> kNames = {
#define WALLE_CALL_TYPE(member, word) word,
#include "container/task/call_type.inc"
  };
  return kNames[static_cast<size_t>(type)];
}

std::string_view type_name_of(const vm::Value& value) { return call_type_name(type_of(value)); }

bool is_of(const vm::Value& value, CallType type) {
  const CallType given = type_of(value);
  return type == CallType::any || given == type || (type == CallType::real && given == CallType::integer);
}

Status check_arguments(const CallSpec& spec, std::span<const vm::Value> arguments, Text where) {
  if (arguments.size() != spec.arguments.size())
    return argument_error({arguments.size(), " arguments"}, {spec.arguments.size(), ": ", declared(spec)},
                          where, "pass those that task.toml declares");
  for (size_t i = 0; i < arguments.size(); ++i)
    if (!is_of(arguments[i], spec.arguments[i]))
      return argument_error({"argument ", i, " of type ", type_name_of(arguments[i])},
                            {call_type_name(spec.arguments[i]), ", of ", declared(spec)}, where,
                            "convert it, or declare another type");
  return {};
}

}  // namespace walle::container
