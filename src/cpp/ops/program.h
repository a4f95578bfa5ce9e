// Program: the lowered form of a graph segment. Atomic operators (and composites a backend claimed) plus
// raster and loop. Machine-independent. Sizes may be symbols (tensor/dim.h) while the passes run; for the
// search they are plain numbers.
//
// Built by Lowering, rewritten by the passes in ops/passes, then immutable.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "ir/op_def.h"
#include "ops/origin.h"
#include "raster/loop.h"
#include "raster/region.h"

namespace walle::ops {

using Ref = int32_t;  // index of a program value; negative: none
inline constexpr Ref kNoRef = -1;

struct ProgramValue {
  DType dtype = DType::undefined;
  Shape shape;
  std::optional<Tensor> constant{};
  // While lowering: the elements of what a model computes of its shapes, where some are symbols. No node
  // computes or reads such a value: what wants numbers makes it a constant (Lowering::pin).
  std::vector<Dim> sizes{};
};

// Entry `index` of an integer attribute, of one number or of several, is a size that may be a symbol.
struct AttributeDim {
  std::string name;
  size_t index = 0;
  Dim dim;
};

struct ProgramNode {
  const ir::OpDef* op = nullptr;
  ir::Attributes attributes{};
  std::vector<Ref> inputs{};
  std::vector<Ref> outputs{};
  Origin origin{};
  std::optional<raster::Raster> raster{};  // of the operator "raster"
  std::optional<raster::LoopSpec> loop{};  // of the operator "loop"
  std::vector<AttributeDim> symbols{};     // among the attributes
};

struct Program {
  std::deque<ProgramValue> values;  // a deque: references stay valid while values are added
  std::vector<ProgramNode> nodes;   // topological order
  std::vector<Ref> inputs;
  std::vector<Ref> outputs;

  ProgramValue& at(Ref r) { return values[r]; }
  const ProgramValue& at(Ref r) const { return values[r]; }
  Ref add(ProgramValue value) {
    values.push_back(std::move(value));
    return static_cast<Ref>(values.size() - 1);
  }
};

// The op-table rows of the two movement atoms.
const ir::OpDef& raster_op();
const ir::OpDef& loop_op();

// Removes nodes whose results nobody reads.
void remove_dead_nodes(Program& program);

std::string dump(const Program& program);

}  // namespace walle::ops
