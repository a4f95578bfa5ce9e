// Values that lie in the caller's memory: results never do, unless they were asked to.
#pragma once

#include <cstddef>
#include <vector>

#include "ir/runtime_value.h"

namespace walle::runtime {

// Where the memory of the caller begins: of inputs, and of what was given for results.
using Borrowed = std::vector<const std::byte*>;

void add_buffers(const ir::RuntimeValue& value, Borrowed& borrowed);

// A result that is one of the inputs (Identity, a reshape of nothing) or lies in memory given for another
// result is copied: the caller may change that later.
Status detach(ir::RuntimeValue& value, const Borrowed& borrowed);

// An input as kernels know booleans, copied when it holds others.
Status make_booleans_plain(ir::RuntimeValue& value);

}  // namespace walle::runtime
