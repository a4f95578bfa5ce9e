// The op table: every row listed in op_list.inc, found by name.
#pragma once

#include <span>
#include <string_view>

#include "ir/op_def.h"

namespace walle::ops {

const ir::OpDef* find_op(std::string_view name);  // nullptr when there is none
std::span<const ir::OpDef* const> all_ops();      // in table order

}  // namespace walle::ops
