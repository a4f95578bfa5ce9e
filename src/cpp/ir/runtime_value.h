// What flows between nodes at run time: nothing (an empty optional), a tensor, or a sequence of tensors.
//
// Copied freely: a tensor is a handle, and a sequence is shared and const, so that SequenceInsert in a loop
// copies handles and two readers of one value cannot see each other's changes.
#pragma once

#include <memory>
#include <variant>
#include <vector>

#include "tensor/tensor.h"

namespace walle::ir {

struct Sequence {
  DType dtype = DType::undefined;  // of the elements; undefined while empty and untyped
  std::vector<Tensor> items;
};

struct RuntimeValue {
  std::variant<std::monostate, Tensor, std::shared_ptr<const Sequence>> state;

  RuntimeValue() = default;
  RuntimeValue(Tensor tensor) : state(std::move(tensor)) {}  // NOLINT: implicit on purpose
  RuntimeValue(std::shared_ptr<const Sequence> sequence)
      : state(std::move(sequence)) {}  // NOLINT: implicit on purpose

  bool empty() const { return state.index() == 0; }
  const Tensor* tensor() const { return std::get_if<Tensor>(&state); }
  const Sequence* sequence() const {
    const auto* s = std::get_if<std::shared_ptr<const Sequence>>(&state);
    return s ? s->get() : nullptr;
  }
};

}  // namespace walle::ir
