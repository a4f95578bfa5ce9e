#include "ir/attributes.h"

#include <sstream>

namespace walle::ir {

const AttrValue* Attributes::find(std::string_view name) const {
  for (const auto& [key, value] : items_)
    if (key == name) return &value;
  return nullptr;
}

void Attributes::set(std::string name, AttrValue value) {
  for (auto& [key, old] : items_) {
    if (key == name) {
      old = std::move(value);
      return;
    }
  }
  items_.emplace_back(std::move(name), std::move(value));
}

void Attributes::erase(std::string_view name) {
  std::erase_if(items_, [&](const auto& item) { return item.first == name; });
}

const Tensor* Attributes::get_tensor(std::string_view name) const {
  const AttrValue* v = find(name);
  return v ? std::get_if<Tensor>(v) : nullptr;
}

namespace {
struct Print {
  std::ostringstream& out;
  void operator()(int64_t v) const { out << v; }
  void operator()(double v) const { out << v; }
  void operator()(const std::string& v) const { out << '"' << v << '"'; }
  void operator()(const Tensor& v) const { out << dtype_name(v.dtype()) << v.shape().text(); }
  void operator()(const std::shared_ptr<const Graph>&) const { out << "graph"; }
  template <class T>
  void operator()(const std::vector<T>& v) const {
    out << '[';
    for (size_t i = 0; i < v.size(); ++i) {
      if (i) out << ", ";
      (*this)(v[i]);
    }
    out << ']';
  }
};
}  // namespace

bool Attributes::operator==(const Attributes& other) const {
  return std::ranges::equal(items_, other.items_, [](const auto& a, const auto& b) {
    if (a.first != b.first || a.second.index() != b.second.index()) return false;
    return std::visit(
        [&]<class T>(const T& value) {
          const T& same = std::get<T>(b.second);
          if constexpr (std::is_same_v<T, Tensor>)
            return value.identical(same);
          else
            return value == same;
        },
        a.second);
  });
}

std::string Attributes::text() const {
  std::ostringstream out;
  for (size_t i = 0; i < items_.size(); ++i) {
    out << (i ? ", " : "") << items_[i].first << '=';
    std::visit(Print{out}, items_[i].second);
  }
  return out.str();
}

}  // namespace walle::ir
