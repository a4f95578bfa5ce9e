// OpDef: one row of the op table. Each operator's file in ops/ fills one (or a list of them, for element-wise
// kinds).
//
// Plain data and plain functions: a row is a constant, needs no constructor to run when the library is
// loaded, and holds no state that two sessions could share. A class per operator with virtual functions says
// the same with an allocation and a file of declarations each. Which rows exist is one floor up
// (ops/op_list.inc); the row's type is down here because ir/verify.h asks it for arities.
#pragma once

#include <string_view>

#include "ir/graph.h"
#include "ir/infer.h"

namespace walle::ops {
class LowerContext;
class GradientContext;
class ControlContext;
}  // namespace walle::ops

namespace walle::ir {

// The split of the Walle paper (OSDI 2022), because it counts the work: a backend owes kernels for the first
// class alone. atomic: every backend needs kernels; transform: moves data, lowers to rasters;
// composite: lowers to other operators; control: run by the executor (sub-graphs, sequences).
enum class OpClass : uint8_t { atomic, transform, composite, control };

// How far two correct implementations may differ: not at all, a few units in the last place, or by summation
// order.
enum class NumericClass : uint8_t { exact, elementwise, accumulation };

struct Arity {
  int min = 1;
  int max = 1;  // -1: any number
};

// In doubles: products of hostile sizes overflow to infinity, which compares as it should.
struct Cost {
  double flops = 0;
  double bytes = 0;  // read + written once
};

using InferFn = Status (*)(InferContext&);
using LowerFn = Status (*)(ops::LowerContext&);
using GradientFn = Status (*)(ops::GradientContext&);
using ControlFn = Status (*)(ops::ControlContext&);
// nullptr: no arithmetic, bytes of all operands.
using CostFn = Cost (*)(const Attributes&, std::span<const InferInput>, std::span<const InferOutput>);

struct OpDef {
  std::string_view name;
  OpClass op_class = OpClass::atomic;
  Arity inputs{};
  Arity outputs{};
  InferFn infer = nullptr;  // all but control
  // transform and composite. Atomic rows may have one too: it rewrites the forms kernels do not take
  // (auto_pad, one or three spatial axes) and names no result when the node already is in the form they do.
  LowerFn lower = nullptr;
  ControlFn control = nullptr;  // control
  CostFn cost = nullptr;
  NumericClass numeric = NumericClass::exact;
  bool deterministic = true;  // false: random; never folded, never shared
  std::string_view family =
      {};  // atomic rows that are kinds of one operator share a family ("Unary"); empty: the name
  // atomic rows, one of the two: the rule of reverse-mode differentiation (ops/gradient.h), or why there is
  // none. Rows that decompose need neither.
  GradientFn gradient = nullptr;
  std::string_view no_gradient = {};
};

std::string_view op_class_name(OpClass op_class);
std::string_view numeric_class_name(NumericClass numeric);

}  // namespace walle::ir
