// Attributes of a node: a short list of named values, looked up by name and type.
//
// A list and not a map: nodes have few (the largest number is limited before a file's are read), comparing a
// handful of short names costs no more than walking a tree, and the order in which a converter set them is
// the order in files and dumps. One int64 and one double stand for all of ONNX's numbers: its floats are 32
// bits wide and become doubles exactly, and attributes are never computed with in bulk.
//
// The op table does not list what attributes a row knows, so nothing checks their types beforehand. A value
// of another type than asked for reads as if it were absent: a hostile file gets a default or the error of a
// rule that misses it, never a bad access.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tensor/tensor.h"

namespace walle::ir {

struct Graph;

// In the order of AttributeKind in schemas/model.fbs. Bodies are shared and const: copies of a node, which
// passes make freely, hold one body that was verified once.
using AttrValue = std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>,
                               std::vector<std::string>, Tensor, std::shared_ptr<const Graph>>;

class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<std::pair<std::string, AttrValue>> items) : items_(items) {}

  const AttrValue* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }
  void set(std::string name, AttrValue value);
  void erase(std::string_view name);
  const std::vector<std::pair<std::string, AttrValue>>& items() const { return items_; }

  // The value when present and of the asked type, else the fallback.
  int64_t get_int(std::string_view name, int64_t fallback) const { return get<int64_t>(name, fallback); }
  double get_float(std::string_view name, double fallback) const { return get<double>(name, fallback); }
  std::string get_string(std::string_view name, std::string fallback) const {
    return get<std::string>(name, std::move(fallback));
  }
  std::vector<int64_t> get_ints(std::string_view name, std::vector<int64_t> fallback = {}) const {
    return get<std::vector<int64_t>>(name, std::move(fallback));
  }
  std::vector<double> get_floats(std::string_view name) const { return get<std::vector<double>>(name, {}); }
  std::vector<std::string> get_strings(std::string_view name) const {
    return get<std::vector<std::string>>(name, {});
  }
  const Tensor* get_tensor(std::string_view name) const;
  std::shared_ptr<const Graph> get_graph(std::string_view name) const {
    return get<std::shared_ptr<const Graph>>(name, nullptr);
  }

  std::string text() const;  // "axis=1, keepdims=0"
  // Tensors by content, bodies by identity; floats to the last bit, which text() rounds.
  bool operator==(const Attributes& other) const;

 private:
  template <class T>
  T get(std::string_view name, T fallback) const {
    const AttrValue* v = find(name);
    if (!v) return fallback;
    if (const T* typed = std::get_if<T>(v)) return *typed;
    if constexpr (std::is_same_v<T, double>) {  // alpha=1 says the same as alpha=1.0
      if (const auto* i = std::get_if<int64_t>(v)) return static_cast<double>(*i);
    }
    return fallback;
  }

  std::vector<std::pair<std::string, AttrValue>> items_;
};

}  // namespace walle::ir
