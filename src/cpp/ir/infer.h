// InferContext: what a shape rule sees and says. A session plans for the shapes it is given, and values that
// decide shapes (Reshape's target, Slice's ends) are asked for with need(). Sizes may be symbols: a rule that
// reads shape.dim(i) serves a class of shapes, one that reads shape[i] pins the size (tensor/dim.h).
//
// One context serves one node; not shared between threads.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <vector>

#include "ir/attributes.h"

namespace walle::ir {

struct InferInput {
  bool present = false;
  DType dtype = DType::undefined;
  Shape shape;
  const Tensor* constant = nullptr;  // the value where it is known at planning time
  // Else its elements, where they are known but some are symbols: int64 or int32.
  const std::vector<tensor::Dim>* sizes = nullptr;
};

struct InferOutput {
  DType dtype = DType::undefined;
  Shape shape;
  std::optional<Tensor> value{};     // set by rules that know the result (Shape, Size)
  std::vector<tensor::Dim> sizes{};  // the same where some elements are symbols
};

class InferContext {
 public:
  // fetch(i): the run-time value of input i when it is already computed, else nullptr. A function and not a
  // list of values, because most rules ask for none.
  using Fetch = std::function<const Tensor*(int)>;

  InferContext(const Attributes& attributes, std::span<const InferInput> inputs, int outputs,
               Fetch fetch = {})
      : attributes_(attributes), inputs_(inputs), outputs_(outputs), fetch_(std::move(fetch)) {}

  const Attributes& attrs() const { return attributes_; }
  int input_count() const { return static_cast<int>(inputs_.size()); }
  bool has(int i) const { return i < input_count() && inputs_[i].present; }
  DType dtype(int i) const { return inputs_[i].dtype; }
  const Shape& shape(int i) const { return inputs_[i].shape; }
  int rank(int i) const { return shape(i).rank(); }
  const Tensor* constant(int i) const {
    if (has(i) && inputs_[i].sizes) return pinned(i);
    return has(i) ? inputs_[i].constant : nullptr;
  }

  // Whether input i is known, some of its elements being symbols.
  bool sizes(int i) const { return has(i) && inputs_[i].sizes; }

  // The value of input i, which the result's shape or structure depends on. When it is not computed yet this
  // fails and missing() names the input: the planner ends the segment before this node and comes back with
  // the value. A value got this way counts as constant for the plan: the op's lower() sees it through
  // constant().
  Result<const Tensor*> need(int i);
  Result<std::vector<int64_t>> need_i64(int i);
  // The same of sizes, which may be symbols and then stay so.
  Result<std::vector<tensor::Dim>> need_dims(int i);
  std::optional<int> missing() const { return missing_; }

  int output_count() const { return static_cast<int>(outputs_.size()); }
  void output(int i, DType dtype, const Shape& shape) {
    if (i >= output_count()) return;  // a trailing optional output nobody asked for
    outputs_[i].dtype = dtype;
    outputs_[i].shape = shape;
  }
  void output_value(int i, Tensor value) {
    output(i, value.dtype(), value.shape());
    outputs_[i].value = std::move(value);
  }
  // A result of int64 that the rule knows, of this shape and these elements.
  Status output_sizes(int i, const Shape& shape, std::vector<tensor::Dim> sizes);
  std::span<const InferOutput> outputs() const { return outputs_; }

 private:
  const Tensor* pinned(int i) const;

  const Attributes& attributes_;
  std::span<const InferInput> inputs_;
  std::vector<InferOutput> outputs_;
  Fetch fetch_;
  std::optional<int> missing_;
  mutable std::map<int, Tensor> pinned_;  // sizes that were read as numbers
};

}  // namespace walle::ir
