// What QuantizeLinear and DequantizeLinear nodes of a program say of its values.
#pragma once

#include <optional>

#include "ops/passes/fold_known.h"
#include "ops/passes/uses.h"

namespace walle::ops {

// 8-bit codes with what they stand for, all constants.
struct Codes {
  Ref codes = kNoRef, scale = kNoRef, zero = kNoRef;  // zero: kNoRef where the node has none
  DType dtype = DType::undefined;
  float scale_value = 0;   // of one scale
  int32_t zero_value = 0;  // likewise

  int64_t least() const { return dtype == DType::int8 ? -128 : 0; }
  // Of a number, as QuantizeLinear has it.
  int64_t code_of(double x) const;
};

bool same_codes(const Codes& a, const Codes& b);

class CodesOf {
 public:
  CodesOf(Program& program, const Uses& uses);

  const ProgramNode* made_by(Ref r) const;
  // The codes that r was made of, with one scale.
  std::optional<Codes> dequantized(Ref r) const;
  // Constant codes that r was made of, with one scale or one per index of `axis`.
  std::optional<Codes> dequantized_weights(Ref r, int axis) const;
  // Those of a product's right operand, a matrix with one scale or one per column: the codes as they are, or
  // transposed where the matrix is.
  Result<std::optional<Codes>> right_operand(Ref r, const FoldNode& fold);
  // The scale of x times those of w, as an operand of the product.
  Result<Ref> factor(const Codes& x, const Codes& w);
  // What a QuantizeLinear makes, with one scale.
  std::optional<Codes> quantized_by(const ProgramNode& q) const;

  // The zero point, made where the node has none.
  Result<Ref> zero(const Codes& codes);
  // A bias in steps of both scales, as int32: the constant itself where it is in these steps, and what is
  // nearest where it is not. Nothing where it is computed.
  Result<std::optional<Ref>> bias(Ref r, const Codes& x, const Codes& w);

 private:
  std::optional<Codes> one_scale(Ref codes, const ProgramNode& node, DType dtype) const;

  Program& program_;
  std::vector<ProgramNode> nodes_;  // as they were when `uses` was made
  const Uses& uses_;
};

}  // namespace walle::ops
