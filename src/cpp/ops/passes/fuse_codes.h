// Quantised graphs: a layer between DequantizeLinear and QuantizeLinear becomes one that reads and writes
// codes. Runs where backends run the two whole, so that they are still there; whatever a backend does not
// claim stays as it was.
//
//   QuantizedConv  Conv of dequantised codes and constant weights, a bias, Relu or Clip, quantised; and an
//   Add
//                  of other codes behind it, with its own Relu or Clip
//   QLinearAdd,    of two values of codes, with Relu or Clip
//   QLinearMul
//   MatMulInteger  MatMul of dequantised codes and a constant matrix; a factor behind it
//   CodeLookup     what is computed of one value element by element: HardSwish, Sigmoid, other scales
//   QLinearGlobalAveragePool
//   MaxPool,       codes moved as they are, where the scale does not change
//   movement
//
// Codes may differ by one from what the float operators give where a result lies halfway between two.
#pragma once

#include <functional>

#include "ops/program.h"

namespace walle::ops {

struct CodesHooks {
  // Whether some backend runs this node.
  std::function<bool(const Program& program, const ProgramNode& node)> runs;
  // Computes a program of one node whose inputs are constants.
  std::function<Result<std::vector<Tensor>>(const Program& one_node)> fold;
};

Status fuse_codes(Program& program, const CodesHooks& hooks);

}  // namespace walle::ops
