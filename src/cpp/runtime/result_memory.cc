#include "runtime/result_memory.h"

#include <algorithm>
#include <string>

#include "base/copy.h"

namespace walle::runtime {

namespace {

std::string type_of(DType dtype, const Shape& shape) { return std::string(dtype_name(dtype)) + shape.text(); }

std::string place_of(const ir::Value& value) { return "out, result '" + value.name + "'"; }

bool overlap(const Tensor& a, const Tensor& b) {
  if (a.bytes() == 0 || b.bytes() == 0) return false;
  const auto* first = static_cast<const std::byte*>(a.data());
  const auto* second = static_cast<const std::byte*>(b.data());
  return first < second + b.bytes() && second < first + a.bytes();
}

// The tensors a value is made of.
std::span<const Tensor> tensors_of(const ir::RuntimeValue& value) {
  if (const Tensor* t = value.tensor()) return {t, 1};
  if (const ir::Sequence* s = value.sequence()) return s->items;
  return {};
}

Status check_one(const ir::Value& value, const Tensor& given) {
  if (value.kind != ir::ValueKind::tensor)
    return argument_error({"an array for a result of kind ", ir::value_kind_name(value.kind)},
                          "arrays for tensors only", place_of(value), "leave this result out of out");
  if (value.dtype != DType::undefined && given.dtype() != value.dtype)
    return argument_error({"an array of dtype ", dtype_name(given.dtype())}, dtype_name(value.dtype),
                          place_of(value), "make it with numpy.empty(shape, dtype)");
  if (!given.buffer().writable())
    return argument_error("memory that may not be written", "a writable array", place_of(value),
                          "pass a copy of it");
  return {};
}

}  // namespace

Error misfit(const Tensor& given, DType dtype, const Shape& shape) {
  return argument_error({"memory for ", type_of(given.dtype(), given.shape())}, type_of(dtype, shape), "out",
                        "make the array with numpy.empty of this shape and dtype");
}

Status check_result_memory(const ir::Graph& graph, std::span<const Tensor> given,
                           const std::vector<ir::RuntimeValue>& inputs) {
  if (given.size() != graph.outputs.size())
    return argument_error({"memory for ", given.size(), " results"}, graph.outputs.size(), "out",
                          "name the results");
  for (size_t i = 0; i < given.size(); ++i) {
    if (!given[i].defined()) continue;
    const ir::Value& value = graph.at(graph.outputs[i]);
    WALLE_TRY(check_one(value, given[i]));
    for (size_t k = 0; k < inputs.size(); ++k)
      if (std::ranges::any_of(tensors_of(inputs[k]), [&](const Tensor& t) { return overlap(t, given[i]); }))
        return argument_error({"memory that overlaps input '", graph.at(graph.inputs[k]).name, "'"},
                              "memory of its own", place_of(value), "pass another array");
    for (size_t k = 0; k < i; ++k)
      if (given[k].defined() && overlap(given[k], given[i]))
        return argument_error({"memory that overlaps that of result '", graph.at(graph.outputs[k]).name, "'"},
                              "memory of its own", place_of(value), "pass another array");
  }
  return {};
}

Status fill_result_memory(const ir::Graph& graph, std::span<const Tensor> given,
                          std::vector<ir::RuntimeValue>& results) {
  for (size_t i = 0; i < given.size(); ++i) {
    if (!given[i].defined()) continue;
    Tensor into = given[i];
    const Tensor* made = results[i].tensor();
    const ir::Value& value = graph.at(graph.outputs[i]);
    if (!made)
      return argument_error("an array for a result that is no tensor", "a tensor", place_of(value),
                            "leave this result out of out");
    if (made->dtype() != into.dtype() || !(made->shape() == into.shape()))
      return misfit(into, made->dtype(), made->shape()).within({"result '", value.name, "'"});
    if (made->data() != into.data() && made->bytes() > 0)
      base::copy_bytes(into.mutable_data(), made->data(), made->bytes());
    results[i] = std::move(into);
  }
  return {};
}

}  // namespace walle::runtime
