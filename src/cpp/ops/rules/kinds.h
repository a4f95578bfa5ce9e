// The kind of a unary or binary node, attributes that choose a variant included, and the numbers it reads
// with the defaults of ONNX: what a backend needs to know of such a node besides its shapes.
#pragma once

#include <optional>
#include <string_view>

#include "ir/attributes.h"
#include "tensor/kinds.h"

namespace walle::ops {

std::optional<UnaryKind> unary_kind(std::string_view op, const ir::Attributes& attrs);
UnaryParams unary_params(UnaryKind kind, const ir::Attributes& attrs);

std::optional<BinaryKind> binary_kind(std::string_view op, const ir::Attributes& attrs);

}  // namespace walle::ops
