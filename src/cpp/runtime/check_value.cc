#include "runtime/check_value.h"

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
                          {"convert the array with .astype('", dtype_name(value.dtype), "')"});
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
                          "reshape the array or convert the model with dynamic dimensions");
  }
  return {};
}

}  // namespace walle::runtime
