#include "ops/rules/words.h"

#include <algorithm>

namespace walle::ops {

namespace {
// 2^26 words, 2 GB of std::string (32 bytes each): the bytes of all other words already bound their number.
constexpr int64_t kMaxEmptyWords = base::kMaxTensorBytes >> 8;
}  // namespace

Result<Words> words_of(const Tensor* tensor, const std::string& where) {
  if (!tensor || tensor->dtype() != DType::uint8 || tensor->shape().rank() < 1)
    return model_error(tensor ? Text{dtype_name(tensor->dtype()), tensor->shape().text()} : Text("no tensor"),
                       "an array of strings", where, "pass an array of Python strings");
  const int rank = tensor->shape().rank() - 1;
  Words out{tensor->shape().sub(0, rank), {}};
  const size_t width = tensor->shape().back();
  const auto* bytes = static_cast<const char*>(tensor->data());
  const int64_t count = width == 0 ? 0 : out.shape.elements();
  for (int64_t i = 0; i < count; ++i, bytes += width)
    // A zero ends a word, so words hold none; NumPy's S dtype has the same limit.
    out.items.emplace_back(bytes, std::find(bytes, bytes + width, '\0'));
  // Strings of no bytes: their number is bounded by nothing in the tensor.
  if (width == 0) out.items.resize(static_cast<size_t>(std::min(out.shape.elements(), kMaxEmptyWords)));
  if (static_cast<int64_t>(out.items.size()) != out.shape.elements())
    return model_error({tensor->shape().text(), " empty strings"}, "fewer of them", where,
                       "use a smaller array");
  return out;
}

Result<Tensor> tensor_of(const Words& words) {
  // At least one byte, so that an array of empty strings differs from an array of no strings.
  size_t width = 1;
  for (const std::string& word : words.items) width = std::max(width, word.size());
  std::vector<int64_t> dims(words.shape.begin(), words.shape.end());
  dims.push_back(static_cast<int64_t>(width));
  WALLE_ASSIGN(const Shape shape, Shape::checked(dims, 1, "strings"));
  WALLE_ASSIGN(Tensor out, Tensor::zeros(DType::uint8, shape));
  auto* at = static_cast<char*>(out.mutable_data());
  for (const std::string& word : words.items) {
    std::copy(word.begin(), word.end(), at);
    at += width;
  }
  return out;
}

const std::string& broadcast_at(const Words& words, const Shape& shape, int64_t index) {
  int64_t position = 0;
  int64_t stride = 1;
  const int lead = shape.rank() - words.shape.rank();
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    const int64_t i = index % shape[axis];
    index /= shape[axis];
    if (axis < lead) continue;
    const int64_t size = words.shape[axis - lead];
    // An axis of 1 repeats.
    if (size != 1) position += i * stride;
    stride *= size;
  }
  return words.items[position];
}

}  // namespace walle::ops
