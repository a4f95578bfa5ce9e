// Functions of 8-bit codes as tables: what element-wise operators between DequantizeLinear and QuantizeLinear
// make of each of the 256 codes, computed by the operators themselves.
#pragma once

#include <optional>

#include "ops/passes/fold_known.h"
#include "ops/passes/uses.h"

namespace walle::ops {

struct CodeFunction {
  Ref codes = kNoRef;
  std::vector<ProgramNode> steps;  // DequantizeLinear first, QuantizeLinear last
};

// Nothing where `q` quantises what is made of several values, or by operators that look at other elements.
std::optional<CodeFunction> function_of_codes(const Program& program, const Uses& uses, const ProgramNode& q);

// 256 results, of the least code first.
Result<Tensor> table_of(const Program& program, const CodeFunction& function, const FoldNode& fold);
// Of a DequantizeLinear and a QuantizeLinear behind it, whatever stands between them.
Result<Tensor> requantization_table(const Program& program, const ProgramNode& dequantize,
                                    const ProgramNode& quantize, const FoldNode& fold);

}  // namespace walle::ops
