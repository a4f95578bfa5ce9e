// Values as bytes, for what a task keeps: docs/reference/formats/values.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "vm/value.h"

namespace walle::container {

// nullopt: a tensor, or more than 32 levels.
std::optional<std::string> encode_value(const vm::Value& value);
// nullopt: not what encode_value() wrote.
std::optional<vm::Value> decode_value(std::string_view bytes);

}  // namespace walle::container
