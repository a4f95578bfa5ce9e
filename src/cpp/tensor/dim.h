// Dim: a size that remembers how it came of the symbols of a class of shapes.
//
// While a plan for a class is made (tensor/dim_trace.h) some sizes of its inputs are symbols. Arithmetic on a
// Dim carries the symbols along, a comparison notes its answer as a condition of the class, and turning a Dim
// into a plain integer notes that the size must stay what it is. So code that computes with int64_t is right
// as it stands, for shapes of that very size; code that computes with Dim serves the class. Compare SymInt of
// PyTorch 2 (Ansel et al., ASPLOS 2024), from which guards are taken.
//
// A value. Without a trace on this thread there are no terms, and everything here is the arithmetic of
// int64_t behind one comparison.
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <string>

namespace walle::tensor {

class Dim {
 public:
  using Term = uint32_t;  // of the trace of this thread; 0: a plain number

  constexpr Dim() = default;
  template <std::integral T>
  constexpr Dim(T value) : value_(static_cast<int64_t>(value)) {}  // NOLINT(*-explicit-*): a number is a size
  constexpr Dim(int64_t value, Term term) : value_(value), term_(term) {}

  // The plain number, which the plan is then made for.
  operator int64_t() const {  // NOLINT(*-explicit-*): what knows no symbols goes on as it is
    if (term_ != 0) [[unlikely]]
      pin(*this);
    return value_;
  }
  // The number while planning, for messages and limits: nothing may be decided by it.
  constexpr int64_t value() const { return value_; }
  constexpr Term term() const { return term_; }
  constexpr bool symbolic() const { return term_ != 0; }

  static void pin(Dim d);
  static Dim sum(Dim a, Dim b);
  static Dim difference(Dim a, Dim b);
  static Dim product(Dim a, Dim b);
  static Dim quotient(Dim a, Dim b);  // towards zero, as of int64_t
  static Dim remainder(Dim a, Dim b);
  static bool negative(Dim d);
  static bool zero(Dim d);

 private:
  int64_t value_ = 0;
  Term term_ = 0;
};

template <class A, class B>
concept DimOperands = (std::same_as<A, Dim> && (std::same_as<B, Dim> || std::integral<B>)) ||
                      (std::integral<A> && std::same_as<B, Dim>);

// Templates, so that `dim + 1` is neither a conversion of the number nor one of the size.
template <class A, class B>
  requires DimOperands<A, B>
Dim operator+(A a, B b) {
  const Dim x(a);
  const Dim y(b);
  if ((x.term() | y.term()) == 0) [[likely]]
    return x.value() + y.value();
  return Dim::sum(x, y);
}
template <class A, class B>
  requires DimOperands<A, B>
Dim operator-(A a, B b) {
  const Dim x(a);
  const Dim y(b);
  if ((x.term() | y.term()) == 0) [[likely]]
    return x.value() - y.value();
  return Dim::difference(x, y);
}
template <class A, class B>
  requires DimOperands<A, B>
Dim operator*(A a, B b) {
  const Dim x(a);
  const Dim y(b);
  if ((x.term() | y.term()) == 0) [[likely]]
    return x.value() * y.value();
  return Dim::product(x, y);
}
template <class A, class B>
  requires DimOperands<A, B>
Dim operator/(A a, B b) {
  const Dim x(a);
  const Dim y(b);
  if ((x.term() | y.term()) == 0) [[likely]]
    return x.value() / y.value();
  return Dim::quotient(x, y);
}
template <class A, class B>
  requires DimOperands<A, B>
Dim operator%(A a, B b) {
  const Dim x(a);
  const Dim y(b);
  if ((x.term() | y.term()) == 0) [[likely]]
    return x.value() % y.value();
  return Dim::remainder(x, y);
}
inline Dim operator-(Dim a) { return 0 - a; }

template <class B>
  requires DimOperands<Dim, B>
Dim& operator+=(Dim& a, B b) {
  return a = a + b;
}
template <class B>
  requires DimOperands<Dim, B>
Dim& operator-=(Dim& a, B b) {
  return a = a - b;
}
template <class B>
  requires DimOperands<Dim, B>
Dim& operator*=(Dim& a, B b) {
  return a = a * b;
}
template <class B>
  requires DimOperands<Dim, B>
Dim& operator/=(Dim& a, B b) {
  return a = a / b;
}
template <class B>
  requires DimOperands<Dim, B>
Dim& operator%=(Dim& a, B b) {
  return a = a % b;
}

template <class A, class B>
  requires DimOperands<A, B>
bool operator==(A a, B b) {
  const Dim x(a);
  const Dim y(b);
  if ((x.term() | y.term()) == 0) [[likely]]
    return x.value() == y.value();
  return Dim::zero(x - y);
}
template <class A, class B>
  requires DimOperands<A, B>
bool operator<(A a, B b) {
  const Dim x(a);
  const Dim y(b);
  if ((x.term() | y.term()) == 0) [[likely]]
    return x.value() < y.value();
  return Dim::negative(x - y);
}
template <class A, class B>
  requires DimOperands<A, B>
bool operator>(A a, B b) {
  return b < a;
}
template <class A, class B>
  requires DimOperands<A, B>
bool operator<=(A a, B b) {
  return !(b < a);
}
template <class A, class B>
  requires DimOperands<A, B>
bool operator>=(A a, B b) {
  return !(a < b);
}

// For tuples: two conditions, where each of the others notes one. Without it `<=>` would be that of the plain
// numbers. A template like the others, which would otherwise be made of it.
template <class A, class B>
  requires DimOperands<A, B>
std::strong_ordering operator<=>(A a, B b) {
  if (a < b) return std::strong_ordering::less;
  return b < a ? std::strong_ordering::greater : std::strong_ordering::equal;
}

inline Dim& operator++(Dim& d) { return d += 1; }
inline Dim abs(Dim d) { return d < 0 ? -d : d; }

// The number; of a symbol its term as well, so that sizes which are equal by chance are told apart.
std::string text(Dim d);

}  // namespace walle::tensor

namespace walle {
using tensor::Dim;
}
