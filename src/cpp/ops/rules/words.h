// Arrays of strings. They have no dtype of their own: an array of shape S travels
// as uint8 of shape S + [W], UTF-8 padded with zeros, the way NumPy stores
// fixed-width bytes. Operators on them run in the executor, because W is a value.
#pragma once

#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace walle::ops {

struct Words {
  Shape shape;  // without the axis of bytes
  std::vector<std::string> items;
};

// What an item takes beside its letters, for checks of sizes before arrays of strings are made.
inline constexpr int64_t kWordBytes = sizeof(std::string);

// A model error when the tensor (nullptr: none) is not an array of strings.
Result<Words> words_of(const Tensor* tensor, const std::string& where);
Result<Tensor> tensor_of(const Words& words);

// The item of `words` that a broadcast result of shape `shape` has at row-major position `index`.
const std::string& broadcast_at(const Words& words, const Shape& shape, int64_t index);

}  // namespace walle::ops
