// Conversion of values to and from the plain structures of the boundary (abi.h).
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "vm/abi.h"
#include "vm/outcome.h"

namespace walle::vm {

// Makes boundary values, and owns what they point to besides what was visited, which must outlive it.
class BoundaryBuilder {
 public:
  BoundaryBuilder() = default;
  BoundaryBuilder(const BoundaryBuilder&) = delete;
  BoundaryBuilder& operator=(const BoundaryBuilder&) = delete;

  wvm_value none() { return {.kind = WVM_NONE, .size = 0, .as = {}}; }
  wvm_value boolean(bool v) { return {.kind = WVM_BOOL, .size = 0, .as = {.integer = v}}; }
  wvm_value integer(int64_t v) { return {.kind = WVM_INT, .size = 0, .as = {.integer = v}}; }
  wvm_value real(double v) { return {.kind = WVM_FLOAT, .size = 0, .as = {.real = v}}; }
  wvm_value text(std::string_view v) { return {.kind = WVM_STR, .size = v.size(), .as = {.text = v.data()}}; }
  wvm_value bytes(std::string_view v) {
    return {.kind = WVM_BYTES, .size = v.size(), .as = {.text = v.data()}};
  }
  wvm_value list(const List& list);
  wvm_value map(const Map& map);
  // None where memory is short.
  wvm_value tensor(const Tensor& tensor) { return share(WVM_TENSOR, tensor); }
  wvm_value buffer(const Buffer& buffer);

 private:
  struct Owned {
    std::vector<std::vector<wvm_value>> items;  // growing moves the vectors, not their elements
    std::vector<wvm_tensor*> tensors;
    ~Owned();
  };
  Owned& owned();
  wvm_value keep(wvm_kind kind, size_t size, std::vector<wvm_value> items);
  wvm_value share(wvm_kind kind, Tensor tensor);

  // Made by the first value that needs it: most host calls give a number, and cost 10 ns in all.
  std::unique_ptr<Owned> owned_;
};

// A new boundary tensor with one reference; nullptr when memory is short.
wvm_tensor* lend(Tensor tensor);
// What lend() was given; every tensor of the boundary comes from there.
const Tensor& tensor_of(const wvm_tensor* lent);
// All its bytes, whatever its element type; keeps its memory alive.
Buffer bytes_of(const wvm_tensor* lent);

// The items of a list, and the entries (key, item) of a map, as visitors get them.
inline std::span<const wvm_value> items_of(const wvm_value& list) { return {list.as.items, list.size}; }

// Keys and items of a map lie behind each other in pairs. Iterators of our own, because clang up to 15 cannot
// compile the views of libstdc++ 12.
class MapEntries {
 public:
  using Entry = std::pair<std::string_view, const wvm_value&>;

  class Iterator {
   public:
    explicit Iterator(const wvm_value* at) : at_(at) {}
    Entry operator*() const { return {{at_->as.text, at_->size}, at_[1]}; }
    Iterator& operator++() {
      at_ += 2;
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    const wvm_value* at_;
  };

  explicit MapEntries(const wvm_value& map) : items_(map.as.items), size_(map.size) {}
  Iterator begin() const { return Iterator(items_); }
  Iterator end() const { return Iterator(items_ + 2 * size_); }
  size_t size() const { return size_; }

 private:
  const wvm_value* items_;
  size_t size_;
};

inline MapEntries entries_of(const wvm_value& map) { return MapEntries(map); }

// A number that came across the boundary; one that is no kind means nothing.
inline wvm_kind kind_of(const wvm_value& value) {
  return value.kind <= WVM_BUFFER ? static_cast<wvm_kind>(value.kind) : WVM_NONE;
}

// As visit() of a Value.
template <class Visitor>
auto visit(const wvm_value& value, Visitor& to) {
  switch (kind_of(value)) {
    case WVM_BOOL: return to.boolean(value.as.integer != 0);
    case WVM_INT: return to.integer(value.as.integer);
    case WVM_FLOAT: return to.real(value.as.real);
    case WVM_STR: return to.text(std::string_view(value.as.text, value.size));
    case WVM_BYTES: return to.bytes(std::string_view(value.as.text, value.size));
    case WVM_LIST: return to.list(items_of(value));
    case WVM_MAP: return to.map(entries_of(value));
    case WVM_TENSOR: return to.tensor(tensor_of(value.as.tensor));
    case WVM_BUFFER: return to.buffer(bytes_of(value.as.tensor));
    case WVM_NONE: break;
  }
  return to.none();
}

Value incoming(const wvm_value& value);
Outcome incoming(const wvm_result& result);

}  // namespace walle::vm
