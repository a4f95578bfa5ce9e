// Encoder: what one asks of a model's session, whoever owns that: rows of floats into the first input, the
// numbers of the first output back. Stateless; any thread.
#pragma once

#include <span>
#include <vector>

#include "ir/runtime_value.h"
#include "stream/operators/operators.h"

namespace walle::container {

// float32 [rows, in.size() / rows]; the operator never asks for zero rows.
Result<std::vector<ir::RuntimeValue>> encoder_inputs(std::span<const float> in, size_t rows);
// A model error where the first output is no float32 tensor.
Status take_codes(const std::vector<ir::RuntimeValue>& results, Floats& out);

}  // namespace walle::container
