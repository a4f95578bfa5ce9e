// The kinds of the operator families that are one operator each to a backend: unary,
// binary, reduce, the recurrent ones, and the modes they choose from. Named once, in
// tensor/kinds/*.inc, for the operator table, the passes, the kernels and every
// backend: what a kind is called, what it is defined for, which numbers it reads.
//
// Enumerations, plain data and declarations only: kernel files that are compiled once per instruction set
// include this, and an inline function would come out of the linker with the flags of whichever file it kept.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tensor/dtype.h"

namespace walle::tensor {

enum class UnaryKind : uint8_t {
#define WALLE_UNARY(kind, name, group, ...) kind,
#define WALLE_UNARY_VARIANT(kind, group, ...) kind,
#include "tensor/kinds/unary.inc"
};

// What an operand may be and what comes out; see unary.inc.
enum class UnaryClass : uint8_t { floating, number, bits, logic, test };

// What the attributes of a unary kind come down to; kinds with none leave both unread.
struct UnaryParams {
  double alpha = 0;
  double beta = 0;
};

// The kind of an operator name ("Relu"); never a variant.
std::optional<UnaryKind> unary_kind(std::string_view op);
UnaryClass unary_class(UnaryKind kind);
bool defined_for(UnaryKind kind, DType dtype);

enum class BinaryKind : uint8_t {
#define WALLE_BINARY(kind, name, group, ...) kind,
#define WALLE_BINARY_VARIANT(kind, group, ...) kind,
#include "tensor/kinds/binary.inc"
};

// What the operands may be and what comes out; see binary.inc.
enum class BinaryClass : uint8_t { arithmetic, order, logic, bits, compare };

std::optional<BinaryKind> binary_kind(std::string_view op);  // never a variant
BinaryClass binary_class(BinaryKind kind);
bool defined_for(BinaryKind kind, DType dtype);

enum class ReduceKind : uint8_t {
#define WALLE_REDUCE(kind, name, numeric, ...) kind,
#include "tensor/kinds/reduce.inc"
};

std::optional<ReduceKind> reduce_kind(std::string_view op);

enum class RnnKind : uint8_t {
#define WALLE_RNN(kind, name, gates, functions) kind,
#include "tensor/kinds/rnn.inc"
};

enum class RnnFunction : uint8_t {
#define WALLE_RNN_FUNCTION(function, name, numbers, alpha, beta) function,
#include "tensor/kinds/rnn.inc"
};

struct RnnOperator {
  std::string_view name;
  int64_t gates;     // 1, 3 or 4
  size_t functions;  // per direction
};
inline constexpr RnnOperator kRnnOperators[] = {
#define WALLE_RNN(kind, name, gates, functions) {name, gates, functions},
#include "tensor/kinds/rnn.inc"
};
constexpr const RnnOperator& rnn_operator(RnnKind kind) { return kRnnOperators[static_cast<int>(kind)]; }
std::optional<RnnKind> rnn_kind(std::string_view op);

struct RnnActivation {
  RnnFunction function = RnnFunction::tanh;
  float alpha = 0;
  float beta = 0;
};

// A function as `activations` names it, with the numbers that take the place of those not given.
struct RnnFunctionFacts {
  std::string_view name;  // as ONNX spells it
  int numbers;            // 0, 1: reads alpha, 2: and beta
  RnnActivation defaults;
};
const RnnFunctionFacts& rnn_function_facts(RnnFunction function);
// In any case, as ONNX allows.
std::optional<RnnFunction> rnn_function(std::string_view name);

enum class Activation : uint8_t {
#define WALLE_ACTIVATION(kind, name) kind,
#include "tensor/kinds/activation.inc"
};
// By the last entry of the list; kinds.cc asserts that the list has as many rows.
inline constexpr int kActivationCount = static_cast<int>(Activation::elu) + 1;

std::string_view activation_name(Activation activation);
std::optional<Activation> activation_from_name(std::string_view name);

// A unary kind as the activation that computes it, with the numbers it then reads (Relu is a clamp).
struct FusedUnary {
  Activation activation = Activation::none;
  UnaryParams params;
};
std::optional<FusedUnary> as_activation(UnaryKind kind, const UnaryParams& params);

enum class SampleMode : uint8_t {
#define WALLE_SAMPLE_MODE(mode, name) mode,
#include "tensor/kinds/sample.inc"
};
std::optional<SampleMode> sample_mode(std::string_view name);

enum class SamplePadding : uint8_t {
#define WALLE_SAMPLE_PADDING(padding, name) padding,
#include "tensor/kinds/sample.inc"
};
std::optional<SamplePadding> sample_padding(std::string_view name);

}  // namespace walle::tensor

namespace walle {
using tensor::Activation;
using tensor::BinaryKind;
using tensor::ReduceKind;
using tensor::RnnActivation;
using tensor::RnnFunction;
using tensor::RnnKind;
using tensor::SampleMode;
using tensor::SamplePadding;
using tensor::UnaryKind;
using tensor::UnaryParams;
}  // namespace walle
