#include "ops/symbolic.h"

#include <algorithm>

#include "tensor/dim_trace.h"

namespace walle::ops {

namespace {
template <class Raster, class Visit>
void for_each_of(Raster& region, const Visit& visit) {
  visit(region.src.offset);
  visit(region.dst.offset);
  for (int a = 0; a < region.rank; ++a) {
    visit(region.size[a]);
    visit(region.src.stride[a]);
    visit(region.dst.stride[a]);
  }
}

// Every size of a movement, symbol or not.
template <class Node, class Visit>
void for_each_of_movement(Node& node, const Visit& visit) {
  if (node.raster)
    for (auto& region : node.raster->regions) for_each_of(region, visit);
  if (!node.loop) return;
  auto& loop = *node.loop;
  for (int a = 0; a < loop.rank; ++a) {
    visit(loop.size[a]);
    visit(loop.src_step[a]);
    visit(loop.dst_step[a]);
  }
  for_each_of(loop.body, visit);
  for (auto& index : loop.index) {
    visit(index.stride);
    visit(index.bound);
  }
}

bool same(Dim a, Dim b) { return a.value() == b.value() && a.term() == b.term(); }

// Exporters write the number that scores are divided by once for each layer.
constexpr int64_t kSmallBytes = 64;

bool same(const ProgramValue& a, const ProgramValue& b) {
  if (a.dtype != b.dtype || a.shape.rank() != b.shape.rank()) return false;
  for (int i = 0; i < a.shape.rank(); ++i)
    if (!same(a.shape.dim(i), b.shape.dim(i))) return false;
  if (a.constant.has_value() != b.constant.has_value()) return false;
  return !a.constant || a.constant->bytes() > kSmallBytes || a.constant->identical(*b.constant);
}

}  // namespace

std::vector<Dim> sizes_of_movement(const ProgramNode& node) {
  std::vector<Dim> out;
  for_each_of_movement(node, [&](const Dim& d) { out.push_back(d); });
  return out;
}

namespace {
// Sizes aside, which are compared with their symbols.
bool same_movement(const ProgramNode& a, const ProgramNode& b) {
  if (a.raster.has_value() != b.raster.has_value() || a.loop.has_value() != b.loop.has_value()) return false;
  if (!std::ranges::equal(sizes_of_movement(a), sizes_of_movement(b),
                          [](Dim x, Dim y) { return same(x, y); }))
    return false;
  // What is left are numbers of regions and sources, fills and flags: equal where the whole is now.
  return a.raster == b.raster && a.loop == b.loop;
}

bool same_symbols(const ProgramNode& a, const ProgramNode& b) {
  return std::ranges::equal(a.symbols, b.symbols, [](const AttributeDim& x, const AttributeDim& y) {
    return x.name == y.name && x.index == y.index && same(x.dim, y.dim);
  });
}
}  // namespace

bool is_symbolic(const Program& program, const ProgramNode& node) {
  const auto symbolic = [&](Ref r) { return r >= 0 && program.at(r).shape.symbolic(); };
  if (!node.symbols.empty() || std::ranges::any_of(node.inputs, symbolic) ||
      std::ranges::any_of(node.outputs, symbolic))
    return true;
  return std::ranges::any_of(sizes_of_movement(node), [](Dim d) { return d.symbolic(); });
}

bool are_alike(const Program& program, const ProgramNode& node, const Program& other_program,
               const ProgramNode& other) {
  const DimTrace::Scope plain(nullptr);
  const auto operands = [&](const std::vector<Ref>& a, const std::vector<Ref>& b) {
    return std::ranges::equal(a, b, [&](Ref x, Ref y) {
      return x < 0 || y < 0 ? x < 0 && y < 0 : same(program.at(x), other_program.at(y));
    });
  };
  // A value that is read twice is another node than two values of one form.
  const auto pattern = [](const ProgramNode& n) {
    std::vector<size_t> first;
    for (const Ref r : n.inputs) first.push_back(std::ranges::find(n.inputs, r) - n.inputs.begin());
    return first;
  };
  return node.op == other.op && operands(node.inputs, other.inputs) &&
         operands(node.outputs, other.outputs) && pattern(node) == pattern(other) &&
         same_movement(node, other) && same_symbols(node, other) && node.attributes == other.attributes;
}

bool share_constants(const Program& program, const ProgramNode& node, const ProgramNode& other) {
  return std::ranges::equal(node.inputs, other.inputs, [&](Ref x, Ref y) {
    if (x < 0 || !program.at(x).constant) return true;
    const Tensor& a = *program.at(x).constant;
    const Tensor& b = *program.at(y).constant;
    return a.bytes() <= kSmallBytes || a.address() == b.address();  // small ones have been compared
  });
}

void for_each_size(ProgramValue& value, const std::function<void(Dim&)>& visit) {
  if (!value.shape.symbolic()) return;
  for (int a = 0; a < value.shape.rank(); ++a) {
    Dim d = value.shape.dim(a);
    if (!d.symbolic()) continue;
    visit(d);
    value.shape.set(a, d);
  }
}

void for_each_size(ProgramNode& node, const std::function<void(Dim&)>& visit) {
  for_each_of_movement(node, [&](Dim& d) {
    if (d.symbolic()) visit(d);
  });
  for (AttributeDim& symbol : node.symbols) {
    visit(symbol.dim);
    if (const auto* one = node.attributes.find(symbol.name); std::holds_alternative<int64_t>(*one)) {
      node.attributes.set(symbol.name, symbol.dim.value());
    } else {
      std::vector<int64_t> numbers = node.attributes.get_ints(symbol.name);
      numbers[symbol.index] = symbol.dim.value();
      node.attributes.set(symbol.name, std::move(numbers));
    }
  }
}

}  // namespace walle::ops
