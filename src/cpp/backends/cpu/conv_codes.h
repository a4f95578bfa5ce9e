// QuantizedConv and ConvInteger in the kernel's terms, for both layouts of their operands.
#pragma once

#include "backends/cpu/codes.h"
#include "kernels/conv_int8/conv_int8.h"

namespace walle::backends::cpu {

// What conv_int8 is given: everything but addresses. Made of constants; nothing where there is no kernel.
struct ConvCodes {
  kernels::ConvInt8 conv;
  std::string_view form;
  int weights = 0, x_zero = 0, bias = -1;  // inputs of the node; -1: none
  int weight_zeros = -1;
  std::vector<float> factors;  // empty: the result is sums
  kernels::CodesEnd end;
};
bool conv_codes_fit(const NodeView& node);
Result<ConvCodes> conv_codes(const NodeView& node, bool from_rows);

Candidate conv_codes_candidate(const NodeView& node, const ConvCodes& codes, std::string_view kernel,
                               int threads);
// Weights, their sums, bias and factors, packed once per model.
Result<SharedBlock> packed_conv_codes(const NodeView& node, const ConvCodes& codes, PrepareContext& context);

}  // namespace walle::backends::cpu
