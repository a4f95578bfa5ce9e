// Value: what crosses between the host and a task. A plain variant; tensors and buffers share their bytes,
// everything else is copied. A Buffer is bytes too large to copy: the task sees a memoryview of it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tensor/tensor.h"

namespace walle::vm {

struct Value;
using List = std::vector<Value>;
using Map = std::vector<std::pair<std::string, Value>>;  // in the task's insertion order

struct Bytes {
  std::string data;
};

struct Value {
  std::variant<std::monostate, bool, int64_t, double, std::string, Bytes, List, Map, Tensor, Buffer> data;

  Value() = default;
  Value(bool v) : data(v) {}                       // NOLINT: implicit on purpose, call(..., {1, "x"})
  Value(int v) : data(static_cast<int64_t>(v)) {}  // NOLINT
  Value(int64_t v) : data(v) {}                    // NOLINT
  Value(double v) : data(v) {}                     // NOLINT
  Value(const char* v) : data(std::string(v)) {}   // NOLINT
  Value(std::string v) : data(std::move(v)) {}     // NOLINT
  Value(Bytes v) : data(std::move(v)) {}           // NOLINT
  Value(List v) : data(std::move(v)) {}            // NOLINT
  Value(Map v) : data(std::move(v)) {}             // NOLINT
  Value(Tensor v) : data(std::move(v)) {}          // NOLINT
  Value(Buffer v) : data(std::move(v)) {}          // NOLINT

  template <class T>
  const T* get() const {
    return std::get_if<T>(&data);
  }
  bool is_none() const { return std::holds_alternative<std::monostate>(data); }
  // The entry of a map, or nullptr.
  const Value* find(std::string_view key) const;
};

}  // namespace walle::vm
