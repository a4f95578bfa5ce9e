// Formulas over program values, written as formulas: `g * (1 - y * y)`. What the gradients of the kinds
// (tensor/kinds/*.inc) and of operators are written in.
//
// A Term is a value of the program or a plain number. Numbers take the dtype of what they meet; a formula
// that is the number 0 stands for a gradient that is zero everywhere, and no node is made for it.
#pragma once

#include <numbers>

#include "ops/lower.h"

namespace walle::ops {

class Term {
 public:
  Term(double number) : number_(number) {}  // NOLINT: implicit on purpose
  Term(LowerContext& c, Ref ref) : context_(&c), ref_(ref) {}

  Ref ref() const { return ref_; }  // kNoRef of a number
  bool is_number() const { return !context_; }
  double number() const { return number_; }
  LowerContext& context() const { return *context_; }
  DType dtype() const { return context_->dtype(ref_); }

 private:
  LowerContext* context_ = nullptr;
  Ref ref_ = kNoRef;
  double number_ = 0;
};

// One operator of two operands, of which at least one is a value.
Term binary(std::string_view op, const Term& a, const Term& b);
Term unary(std::string_view op, const Term& x);
// Element by element; at least one of a and b is a value.
Term where(const Term& condition, const Term& a, const Term& b);

inline Term operator+(const Term& a, const Term& b) { return binary("Add", a, b); }
inline Term operator-(const Term& a, const Term& b) { return binary("Sub", a, b); }
inline Term operator*(const Term& a, const Term& b) { return binary("Mul", a, b); }
inline Term operator/(const Term& a, const Term& b) { return binary("Div", a, b); }
inline Term operator<(const Term& a, const Term& b) { return binary("Less", a, b); }
inline Term operator>(const Term& a, const Term& b) { return binary("Greater", a, b); }
inline Term equal(const Term& a, const Term& b) { return binary("Equal", a, b); }
inline Term power(const Term& a, const Term& b) { return binary("Power", a, b); }

inline Term operator-(const Term& x) { return unary("Neg", x); }
inline Term abs(const Term& x) { return unary("Abs", x); }
inline Term cos(const Term& x) { return unary("Cos", x); }
inline Term cosh(const Term& x) { return unary("Cosh", x); }
inline Term erf(const Term& x) { return unary("Erf", x); }
inline Term exp(const Term& x) { return unary("Exp", x); }
inline Term log(const Term& x) { return unary("Log", x); }
inline Term round(const Term& x) { return unary("Round", x); }
inline Term sigmoid(const Term& x) { return unary("Sigmoid", x); }
inline Term sign(const Term& x) { return unary("Sign", x); }
inline Term sin(const Term& x) { return unary("Sin", x); }
inline Term sinh(const Term& x) { return unary("Sinh", x); }
inline Term softplus(const Term& x) { return unary("Softplus", x); }
inline Term sqrt(const Term& x) { return unary("Sqrt", x); }
inline Term tanh(const Term& x) { return unary("Tanh", x); }

inline constexpr double kInvSqrtPi = std::numbers::inv_sqrtpi;
inline constexpr double kInvSqrt2 = 1 / std::numbers::sqrt2;

}  // namespace walle::ops
