// Results are memory of their own: no input, no constant of the model, no other result.
#pragma once

#include <cstddef>
#include <vector>

#include "ir/runtime_value.h"
#include "runtime/result_pool.h"

namespace walle::runtime {

// Where the memory of the caller begins: of inputs, and of what was given for results.
using Borrowed = std::vector<const std::byte*>;

void add_buffers(const ir::RuntimeValue& value, Borrowed& borrowed);
bool lent(const Tensor& t, const Borrowed& borrowed);
Result<Tensor> copied(const Tensor& t);  // in memory of its own

// A result whose bytes somebody else can reach is copied: one that is an input (Identity, a reshape of
// nothing), a constant (an initializer, a folded value), a second name of another result, or that lies in
// memory given for another one. All others are the pool's, or nobody's, and cost a comparison.
Status make_own(ir::RuntimeValue& value, const Borrowed& borrowed, const ResultPool& pool);

// An input as kernels know booleans, copied when it holds others.
Status make_booleans_plain(ir::RuntimeValue& value);

}  // namespace walle::runtime
