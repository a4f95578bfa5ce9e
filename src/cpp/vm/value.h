// Value: what crosses between the host and a task. A plain variant; tensors and buffers share their bytes,
// everything else is copied. A Buffer is bytes too large to copy: the task sees a memoryview of it.
//
// Every form that Values are turned into (docs/concepts/vm.md, "Values") is a visitor, and visit() alone
// knows the kinds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
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
  // None, bool, int or float: points to nothing.
  bool is_scalar() const { return data.index() <= kLastScalar; }
  // The entry of a map, or nullptr.
  const Value* find(std::string_view key) const;

 private:
  static constexpr size_t kLastScalar = 3;  // among the alternatives
};

// Gives what the visitor's member for the value's kind gives. Members: none(), boolean(bool),
// integer(int64_t), real(double), text(string_view), bytes(string_view), list(List), map(Map),
// tensor(Tensor), buffer(Buffer). List and map hold nodes to visit in turn; other forms that are visited
// (vm/convert.h) give ranges instead. The type is spelled out because these visit in turn: a deduced one is
// unknown to them with libc++.
template <class Visitor>
auto visit(const Value& value, Visitor& to) -> decltype(to.none()) {
  struct Kinds {
    Visitor& to;
    auto operator()(std::monostate) { return to.none(); }
    auto operator()(bool v) { return to.boolean(v); }
    auto operator()(int64_t v) { return to.integer(v); }
    auto operator()(double v) { return to.real(v); }
    auto operator()(const std::string& v) { return to.text(v); }
    auto operator()(const Bytes& v) { return to.bytes(v.data); }
    auto operator()(const List& v) { return to.list(v); }
    auto operator()(const Map& v) { return to.map(v); }
    auto operator()(const Tensor& v) { return to.tensor(v); }
    auto operator()(const Buffer& v) { return to.buffer(v); }
  };
  return std::visit(Kinds{to}, value.data);
}

}  // namespace walle::vm
