#include "runtime/check_value.h"

#include <array>
#include <span>

namespace walle::runtime {

namespace {
std::string declared(const ir::Value& value) {
  if (!value.shape) return std::string(dtype_name(value.dtype));
  std::string out = std::string(dtype_name(value.dtype)) + "[";
  for (size_t i = 0; i < value.shape->size(); ++i) {
    const ir::Dim& d = (*value.shape)[i];
    out += (i ? ", " : "") + (d.size >= 0 ? std::to_string(d.size) : (d.symbol.empty() ? "?" : d.symbol));
  }
  return out + "]";
}

// Whether these axes of a shape, in this order, are what is declared; symbols take any size.
bool fits(const ir::Value& value, const Shape& shape, std::span<const int> axes) {
  if (value.shape->size() != axes.size()) return false;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t want = (*value.shape)[i].size;
    if (want >= 0 && want != (axes[i] < 0 ? 1 : shape[axes[i]])) return false;
  }
  return true;
}

// Pictures lie with their colours last in most programs and first in most models, and a single one lacks the
// axis of the batch.
std::string shape_advice(const ir::Value& value, const Shape& shape) {
  struct Advice {
    std::array<int, 4> axes;  // -1: a new one
    const char* text;
  };
  constexpr std::array<Advice, 4> kFour = {
      {{{0, 3, 1, 2}, "the array looks like NHWC and the model takes NCHW: pass x.transpose(0, 3, 1, 2)"},
       {{0, 2, 3, 1}, "the array looks like NCHW and the model takes NHWC: pass x.transpose(0, 2, 3, 1)"},
       {{-1, 0, 1, 2}, "the axis of the batch is missing: pass x[None]"},
       {{-1, 2, 0, 1}, "pass x.transpose(2, 0, 1)[None]: colours first, and an axis for the batch"}}};
  constexpr const char* kOther = "reshape the array or convert the model with dynamic dimensions";
  // Sizes that only disagree among themselves are no question of order.
  if (shape.rank() == 4 && fits(value, shape, std::array{0, 1, 2, 3})) return kOther;
  for (const Advice& advice : kFour) {
    const int rank = advice.axes[0] < 0 ? 3 : 4;
    if (shape.rank() == rank && fits(value, shape, advice.axes)) return advice.text;
  }
  return kOther;
}

std::string dtype_advice(const ir::Value& value, const Tensor& given) {
  const std::string cast = "convert the array with .astype('" + std::string(dtype_name(value.dtype)) + "')";
  const bool picture = given.dtype() == DType::uint8 && value.dtype == DType::float32 && value.shape &&
                       (value.shape->size() == 4 || value.shape->size() == 3);
  return picture ? cast + ", and scale pixels as in training (often / 255)" : cast;
}

}  // namespace

Status check_value(const ir::Value& value, const ir::RuntimeValue& given, const char* role,
                   std::map<std::string, int64_t>& symbols) {
  // Runs before every run: texts are made only when something is wrong.
  const auto where = [&] { return std::string(role) + " '" + value.name + "'"; };
  if (value.kind == ir::ValueKind::sequence)
    return given.sequence() ? Status()
                            : argument_error("a value that is not a sequence", "a sequence of tensors",
                                             where(), "pass a list of arrays");
  if (value.kind == ir::ValueKind::optional) return {};
  const Tensor* t = given.tensor();
  if (!t) return argument_error("no tensor", declared(value), where(), "pass an array");
  if (value.dtype != DType::undefined && t->dtype() != value.dtype)
    return argument_error({dtype_name(t->dtype()), t->shape().text()}, declared(value), where(),
                          dtype_advice(value, *t));
  if (!value.shape) return {};
  bool fits = static_cast<int>(value.shape->size()) == t->shape().rank();
  for (size_t i = 0; fits && i < value.shape->size(); ++i) {
    const ir::Dim& d = (*value.shape)[i];
    const int64_t size = t->shape()[static_cast<int>(i)];
    if (d.size >= 0)
      fits = d.size == size;
    else if (!d.symbol.empty())
      fits = symbols.emplace(d.symbol, size).first->second == size;
  }
  if (!fits) {
    std::string bound;
    for (const auto& [name, size] : symbols)
      bound += (bound.empty() ? " where " : ", ") + name + "=" + std::to_string(size);
    return argument_error({dtype_name(t->dtype()), t->shape().text()}, {declared(value), bound}, where(),
                          shape_advice(value, t->shape()));
  }
  return {};
}

}  // namespace walle::runtime
