// What a model computes of sizes that are symbols: exporters write Shape, Gather, Add, Concat before every
// Reshape, and each of these values stays known without a node that runs.
//
// nullopt where a result cannot be said in symbols - a dtype of fractions, more than a few elements, numbers
// from 2^31 on - and its operands have to become numbers.
#pragma once

#include <optional>
#include <vector>

#include "ops/program.h"

namespace walle::ops {

// Result 0 of an arithmetic operator, whose operands are constants or sizes.
std::optional<std::vector<Dim>> computed_sizes(const Program& program, const ir::OpDef& op,
                                               const ir::Attributes& attributes,
                                               const std::vector<Ref>& inputs,
                                               std::span<const ir::InferOutput> outputs);

std::optional<std::vector<Dim>> moved_sizes(const Program& program, const raster::Raster& raster, DType dtype,
                                            const Shape& shape, const std::vector<Ref>& sources);

}  // namespace walle::ops
