#include "ops/rules/attention.h"

#include <algorithm>

namespace walle::ops {

namespace {
constexpr std::array<const char*, AttentionSpec::kOperands> kNames{"q",    "k",    "v",  "bias",
                                                                   "keep", "more", "out"};
}  // namespace

int64_t KeyBand::scores(int64_t queries, int64_t keys) const {
  if (first <= -queries && last >= keys) return queries * keys;
  int64_t count = 0;
  for (int64_t q = 0; q < queries; ++q) {
    const int64_t seen = std::min(keys - 1, q + last) - std::max<int64_t>(0, q + first) + 1;
    count += std::max<int64_t>(0, seen);
  }
  return count;
}

namespace {
// One attribute of several sizes.
void set(ir::Attributes& attributes, std::vector<AttributeDim>& symbols, const char* name,
         const std::vector<Dim>& sizes) {
  std::vector<int64_t> numbers;
  for (const Dim d : sizes) {
    if (d.symbolic()) symbols.push_back({name, numbers.size(), d});
    numbers.push_back(d.value());
  }
  attributes.set(name, std::move(numbers));
}
}  // namespace

ir::Attributes to_attributes(const AttentionDims& spec, std::vector<AttributeDim>& symbols) {
  ir::Attributes out{{"scale", spec.scale},
                     {"keep_value", int64_t{spec.keep_value}},
                     {"fill", spec.fill},
                     {"cap", spec.cap},
                     {"band", std::vector{spec.band.first, spec.band.last}},
                     {"empty", static_cast<int64_t>(spec.empty)}};
  set(out, symbols, "sizes", {spec.queries, spec.keys, spec.depth, spec.width});
  set(out, symbols, "heads", spec.heads);
  for (int i = 0; i < AttentionDims::kOperands; ++i) {
    const auto& o = spec.operands[i];
    std::vector<Dim> sizes{o.offset, o.row, o.col};
    sizes.insert(sizes.end(), o.heads.begin(), o.heads.end());
    set(out, symbols, kNames[i], sizes);
  }
  return out;
}

AttentionSpec pinned(const AttentionDims& spec) {
  AttentionSpec out{.queries = spec.queries,
                    .keys = spec.keys,
                    .depth = spec.depth,
                    .width = spec.width,
                    .heads = {spec.heads.begin(), spec.heads.end()},
                    .scale = spec.scale,
                    .keep_value = spec.keep_value,
                    .fill = spec.fill,
                    .cap = spec.cap,
                    .band = spec.band,
                    .empty = spec.empty};
  for (size_t i = 0; i < spec.operands.size(); ++i) {
    const auto& o = spec.operands[i];
    out.operands[i] = {o.offset, o.row, o.col, {o.heads.begin(), o.heads.end()}};
  }
  return out;
}

AttentionSpec attention_spec(const ir::Attributes& attributes) {
  AttentionSpec spec;
  const std::vector<int64_t> sizes = attributes.get_ints("sizes");
  spec.queries = sizes[0];
  spec.keys = sizes[1];
  spec.depth = sizes[2];
  spec.width = sizes[3];
  spec.heads = attributes.get_ints("heads");
  spec.scale = attributes.get_float("scale", 1);
  spec.keep_value = attributes.get_int("keep_value", 1) != 0;
  spec.fill = attributes.get_float("fill", 0);
  spec.cap = attributes.get_float("cap", 0);
  const std::vector<int64_t> band = attributes.get_ints("band");
  spec.band = {band[0], band[1]};
  spec.empty = static_cast<Empty>(attributes.get_int("empty", 0));
  for (int i = 0; i < AttentionSpec::kOperands; ++i) {
    const std::vector<int64_t> numbers = attributes.get_ints(kNames[i]);
    spec.operands[i] = {numbers[0], numbers[1], numbers[2], {numbers.begin() + 3, numbers.end()}};
  }
  return spec;
}

}  // namespace walle::ops
