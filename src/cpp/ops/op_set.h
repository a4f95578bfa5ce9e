// The id of this engine's set of operators: what a device says it has, and a package was packed with.
#pragma once

#include <string>

namespace walle::ops {

// 16 hexadecimal digits of a hash of all operators' names, sorted: the order of the table says nothing.
std::string op_set_id();

}  // namespace walle::ops
