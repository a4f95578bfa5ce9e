// A value that a caller gives against what the graph declares of it.
#pragma once

#include <map>
#include <string>

#include "ir/graph.h"
#include "ir/runtime_value.h"

namespace walle::runtime {

// Dtype, rank, fixed dimensions, and one size per symbol over all values that are checked with one map.
// `role` ("input") and the value's name say where in the error.
Status check_value(const ir::Value& value, const ir::RuntimeValue& given, const char* role,
                   std::map<std::string, int64_t>& symbols);

}  // namespace walle::runtime
