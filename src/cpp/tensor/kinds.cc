#include "tensor/kinds.h"

#include <algorithm>
#include <array>
#include <limits>

namespace walle::tensor {

namespace {
template <class Kind>
struct Named {
  std::string_view name;
  Kind kind;
};

// The lists are short (the longest has 43 rows) and read while a model is planned, never while it runs.
template <class Kind, size_t kRows>
std::optional<Kind> by_name(const Named<Kind> (&rows)[kRows], std::string_view name) {
  for (const Named<Kind>& row : rows)
    if (row.name == name) return row.kind;
  return std::nullopt;
}

// 16-bit floats are none: the pass ops/passes/widen.cc casts them to float32 before any kernel sees them.
bool is_number(DType dtype) { return is_native_float(dtype) || is_integer(dtype); }

bool same_ignoring_case(std::string_view a, std::string_view b) {
  // ASCII only, by hand: std::tolower asks the process's locale, which a host program may have changed.
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}
}  // namespace

std::optional<UnaryKind> unary_kind(std::string_view op) {
  static constexpr Named<UnaryKind> kRows[] = {
#define WALLE_UNARY(kind, name, group, ...) {name, UnaryKind::kind},
#include "tensor/kinds/unary.inc"
  };
  // Variants have no name: an attribute of the node chooses them (ops/rules/kinds.cc).
  return by_name(kRows, op);
}

UnaryClass unary_class(UnaryKind kind) {
  static constexpr UnaryClass kClasses[] = {
#define WALLE_UNARY(kind, name, group, ...) UnaryClass::group,
#define WALLE_UNARY_VARIANT(kind, group, ...) UnaryClass::group,
#include "tensor/kinds/unary.inc"
  };
  return kClasses[static_cast<int>(kind)];
}

bool defined_for(UnaryKind kind, DType dtype) {
  switch (unary_class(kind)) {
    // Tests such as IsNaN take floats as well; what they give is a bool.
    case UnaryClass::floating:
    case UnaryClass::test: return is_native_float(dtype);
    case UnaryClass::number: return is_number(dtype);
    case UnaryClass::bits: return is_integer(dtype);
    case UnaryClass::logic: return dtype == DType::boolean;
  }
  return false;
}

std::optional<BinaryKind> binary_kind(std::string_view op) {
  static constexpr Named<BinaryKind> kRows[] = {
#define WALLE_BINARY(kind, name, group, ...) {name, BinaryKind::kind},
#include "tensor/kinds/binary.inc"
  };
  return by_name(kRows, op);
}

BinaryClass binary_class(BinaryKind kind) {
  static constexpr BinaryClass kClasses[] = {
#define WALLE_BINARY(kind, name, group, ...) BinaryClass::group,
#define WALLE_BINARY_VARIANT(kind, group, ...) BinaryClass::group,
#include "tensor/kinds/binary.inc"
  };
  return kClasses[static_cast<int>(kind)];
}

bool defined_for(BinaryKind kind, DType dtype) {
  switch (binary_class(kind)) {
    case BinaryClass::arithmetic: return is_number(dtype);
    case BinaryClass::logic: return dtype == DType::boolean;
    case BinaryClass::bits: return is_integer(dtype);
    // Min and Max of booleans are `and` and `or`, comparisons of them compare 0 and 1.
    case BinaryClass::order:
    case BinaryClass::compare: return is_number(dtype) || dtype == DType::boolean;
  }
  return false;
}

std::optional<ReduceKind> reduce_kind(std::string_view op) {
  static constexpr Named<ReduceKind> kRows[] = {
#define WALLE_REDUCE(kind, name, numeric, ...) {name, ReduceKind::kind},
#include "tensor/kinds/reduce.inc"
  };
  return by_name(kRows, op);
}

std::optional<RnnKind> rnn_kind(std::string_view op) {
  static constexpr Named<RnnKind> kRows[] = {
#define WALLE_RNN(kind, name, gates, functions) {name, RnnKind::kind},
#include "tensor/kinds/rnn.inc"
  };
  return by_name(kRows, op);
}

namespace {
constexpr RnnFunctionFacts kRnnFunctions[] = {
#define WALLE_RNN_FUNCTION(function, name, numbers, alpha, beta) \
  {name, numbers, {RnnFunction::function, alpha, beta}},
#include "tensor/kinds/rnn.inc"
};
}  // namespace

const RnnFunctionFacts& rnn_function_facts(RnnFunction function) {
  return kRnnFunctions[static_cast<int>(function)];
}

std::optional<RnnFunction> rnn_function(std::string_view name) {
  for (const RnnFunctionFacts& row : kRnnFunctions)
    if (same_ignoring_case(row.name, name)) return row.defaults.function;
  return std::nullopt;
}

namespace {
constexpr Named<Activation> kActivations[] = {
#define WALLE_ACTIVATION(kind, name) {name, Activation::kind},
#include "tensor/kinds/activation.inc"
};
// Backends index their tables of functions by the enumerator.
static_assert(std::size(kActivations) == kActivationCount);
}  // namespace

std::string_view activation_name(Activation activation) {
  return kActivations[static_cast<int>(activation)].name;
}

std::optional<Activation> activation_from_name(std::string_view name) { return by_name(kActivations, name); }

std::optional<FusedUnary> as_activation(UnaryKind kind, const UnaryParams& params) {
  struct Row {
    UnaryKind kind;
    Activation activation;
  };
  static constexpr Row kRows[] = {
#define WALLE_ACTIVATION(kind, name) {UnaryKind::kind, Activation::kind},
#define WALLE_FUSED_ACTIVATION(kind, name)
#include "tensor/kinds/activation.inc"
  };
  // One clamp serves Relu, Relu6 and Clip: a fused epilogue then has one branch for what nearly all layers
  // end in.
  if (kind == UnaryKind::relu)
    return FusedUnary{Activation::clamp, {0, std::numeric_limits<double>::infinity()}};
  for (const Row& row : kRows)
    if (row.kind == kind) return FusedUnary{row.activation, params};
  return std::nullopt;
}

std::optional<SampleMode> sample_mode(std::string_view name) {
  static constexpr Named<SampleMode> kRows[] = {
#define WALLE_SAMPLE_MODE(mode, name) {name, SampleMode::mode},
#define WALLE_SAMPLE_MODE_ALIAS(mode, name) {name, SampleMode::mode},
#include "tensor/kinds/sample.inc"
  };
  return by_name(kRows, name);
}

std::optional<SamplePadding> sample_padding(std::string_view name) {
  static constexpr Named<SamplePadding> kRows[] = {
#define WALLE_SAMPLE_PADDING(padding, name) {name, SamplePadding::padding},
#include "tensor/kinds/sample.inc"
  };
  return by_name(kRows, name);
}

}  // namespace walle::tensor
