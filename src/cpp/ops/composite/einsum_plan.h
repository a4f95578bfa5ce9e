// The equation of an Einsum, parsed and checked against its operands' shapes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tensor/shape.h"

namespace walle::ops {

// Labels are letters, then (from 256 on) the axes an ellipsis stands for, counted from its right end.
struct EinsumPlan {
  std::vector<std::vector<int>> inputs;  // one label per axis
  std::vector<int> output;
  std::map<int, Dim> size;  // of each label; 1 broadcasts
};

Result<EinsumPlan> parse_einsum(const std::string& equation, const std::vector<Shape>& shapes);

}  // namespace walle::ops
