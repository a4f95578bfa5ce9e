// Nearest names: the known name a misspelt one most likely meant, for messages that end in "did you mean".
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/text.h"

namespace walle::base {

// Empty when none is near: a suggestion that shares less than half its letters only misleads. Of equally near
// ones the first. Names longer than 256 bytes are not compared: the time grows with the product of the
// lengths, and `given` may come from outside.
std::string_view nearest_name(std::string_view given, std::span<const std::string> known);
// The next step of a message about `given`: the nearest name, or `otherwise` where none is near.
std::string did_you_mean(std::string_view given, std::span<const std::string> known, Text otherwise);

}  // namespace walle::base
