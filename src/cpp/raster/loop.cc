#include "raster/loop.h"

#include <algorithm>
#include <cstring>
#include <sstream>

#include "base/checked.h"

namespace walle::raster {

int64_t LoopSpec::count() const {
  int64_t n = 1;
  for (size_t i = 0; i < static_cast<size_t>(rank); ++i) n *= size[i];
  return n;
}

std::string LoopSpec::text() const {
  static constexpr const char* kNames[] = {"assign", "add", "mul", "min", "max"};
  std::ostringstream out;
  const auto axes = [&](const char* name, const Axes& v) {
    out << ' ' << name << '[';
    for (size_t i = 0; i < static_cast<size_t>(rank); ++i) out << (i ? "," : "") << v[i];
    out << ']';
  };
  out << (index_on_dst ? "scatter " : "gather ") << kNames[static_cast<size_t>(combine)];
  axes("rounds", size);
  axes("src", src_step);
  axes("dst", dst_step);
  for (const LoopIndex& i : index) out << " index*" << i.stride << "<" << i.bound;
  Raster one;
  one.regions.push_back(body);
  out << ' ' << one.text();
  if (base) out << " base";
  return out.str();
}

namespace {
// Overflow-free products of the rounds and of the body's box.
bool countable(const LoopSpec& spec) {
  std::optional<int64_t> rounds = 1, body = 1;
  for (size_t i = 0; i < static_cast<size_t>(spec.rank) && rounds; ++i)
    rounds = base::checked_mul(*rounds, spec.size[i]);
  for (size_t i = 0; i < static_cast<size_t>(spec.body.rank) && body; ++i)
    body = base::checked_mul(*body, spec.body.size[i]);
  return rounds && body &&
         base::checked_mul(*rounds, std::max<int64_t>(static_cast<int64_t>(spec.index.size()), 1));
}
}  // namespace

Status check(const LoopSpec& spec, int64_t src_elements, int64_t index_elements, int64_t dst_elements) {
  if (spec.rank < 0 || spec.rank > kRegionRank || spec.body.rank < 0 || spec.body.rank > kRegionRank ||
      !countable(spec))
    return model_error("a loop of rank " + std::to_string(spec.rank) + " over a body of rank " +
                           std::to_string(spec.body.rank),
                       "ranks up to 8 and products of sizes that can be counted", "loop",
                       "report the operator that made this loop");
  // As one raster whose extra axes are the rounds and the index components; its corners are the reachable
  // extremes.
  for (const bool dst : {false, true}) {
    const View& view = dst ? spec.body.dst : spec.body.src;
    const Axes& step = dst ? spec.dst_step : spec.src_step;
    std::optional<int64_t> low = view.offset, high = view.offset;
    const auto widen = [&](int64_t size, int64_t stride) {
      const auto reach = base::checked_mul(size - 1, stride);
      auto& end = reach && *reach < 0 ? low : high;
      end = reach && end ? base::checked_add(*end, *reach) : std::nullopt;
    };
    for (size_t i = 0; i < static_cast<size_t>(spec.body.rank); ++i) widen(spec.body.size[i], view.stride[i]);
    for (size_t i = 0; i < static_cast<size_t>(spec.rank); ++i) widen(spec.size[i], step[i]);
    if (dst == spec.index_on_dst)
      for (const LoopIndex& i : spec.index) widen(std::max<int64_t>(i.bound, 1), i.stride);
    const int64_t elements = dst ? dst_elements : src_elements;
    const bool no_valid_index =
        std::ranges::any_of(spec.index, [](const LoopIndex& i) { return i.bound <= 0; });
    if (no_valid_index || spec.count() == 0 || spec.body.elements() == 0) continue;
    if (!low || !high || *low < 0 || *high >= elements)
      return model_error(
          std::string("a loop whose ") + (dst ? "destination" : "source") + " leaves the tensor",
          "addresses below " + std::to_string(elements), "loop", "report the operator that made this loop");
  }
  if (spec.count() * static_cast<int64_t>(spec.index.size()) != index_elements)
    return model_error("a loop of " + std::to_string(spec.count()) + " rounds over " +
                           std::to_string(index_elements) + " indices",
                       "one index tuple per round", "loop", "report the operator that made this loop");
  return {};
}

namespace {
template <class T>
T combined(Combine how, T old, T value) {
  switch (how) {
    case Combine::assign: return value;
    case Combine::add: return static_cast<T>(old + value);
    case Combine::mul: return static_cast<T>(old * value);
    case Combine::min: return std::min(old, value);
    case Combine::max: return std::max(old, value);
  }
  return value;
}

template <class T>
void combine_round(const Region& r, Combine how, const T* src, T* dst) {
  Axes index{};
  const int64_t n = r.elements();
  for (int64_t k = 0; k < n; ++k) {
    int64_t s = r.src.offset;
    int64_t d = r.dst.offset;
    for (size_t a = 0; a < static_cast<size_t>(r.rank); ++a) {
      s += index[a] * r.src.stride[a];
      d += index[a] * r.dst.stride[a];
    }
    dst[d] = combined(how, dst[d], src[s]);
    for (int a = r.rank - 1; a >= 0; --a) {
      if (++index[static_cast<size_t>(a)] < r.size[static_cast<size_t>(a)]) break;
      index[static_cast<size_t>(a)] = 0;
    }
  }
}

int64_t read_index(DType dtype, const void* indices, int64_t i) {
  return dtype == DType::int32 ? static_cast<const int32_t*>(indices)[i]
                               : static_cast<const int64_t*>(indices)[i];
}

// The offset the index tuple of round i adds.
Result<int64_t> index_offset(const LoopSpec& spec, DType dtype, const void* indices, int64_t round) {
  int64_t offset = 0;
  const auto depth = static_cast<int64_t>(spec.index.size());
  for (int64_t c = 0; c < depth; ++c) {
    const LoopIndex& component = spec.index[static_cast<size_t>(c)];
    const int64_t index = read_index(dtype, indices, round * depth + c);
    if (index < -component.bound || index >= component.bound)
      return model_error(
          "index " + std::to_string(index) + " at position " + std::to_string(round * depth + c),
          "an index in [" + std::to_string(-component.bound) + ", " + std::to_string(component.bound - 1) +
              "]",
          "indices", "clip or correct the indices");
    offset += (index < 0 ? index + component.bound : index) * component.stride;
  }
  return offset;
}
}  // namespace

Status run_loop_reference(const LoopSpec& spec, DType dtype, const void* data, DType index_dtype,
                          const void* indices, const void* base, void* dst, int64_t dst_elements) {
  const int64_t size = dtype_size(dtype);
  if (spec.base && dst_elements > 0) std::memcpy(dst, base, static_cast<size_t>(dst_elements * size));
  Raster round;
  round.regions.push_back(spec.body);
  Region& r = round.regions[0];
  const int64_t count = spec.count();
  for (int64_t i = 0; i < count; ++i) {
    WALLE_ASSIGN(const int64_t moved, index_offset(spec, index_dtype, indices, i));
    r.src.offset = spec.body.src.offset + (spec.index_on_dst ? 0 : moved);
    r.dst.offset = spec.body.dst.offset + (spec.index_on_dst ? moved : 0);
    int64_t rest = i;
    for (int a = spec.rank - 1; a >= 0; --a) {
      const auto k = static_cast<size_t>(a);
      r.src.offset += rest % spec.size[k] * spec.src_step[k];
      r.dst.offset += rest % spec.size[k] * spec.dst_step[k];
      rest /= spec.size[k];
    }
    if (spec.combine == Combine::assign) {
      WALLE_TRY(copy_reference(round, dtype, &data, dst, 0));
      continue;
    }
    const bool numeric = tensor::visit_numeric(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      combine_round(r, spec.combine, static_cast<const T*>(data), static_cast<T*>(dst));
    });
    if (!numeric)
      return model_error("a combining loop of " + std::string(dtype_name(dtype)), "a numeric dtype", "loop",
                         "cast to float32 first");
  }
  return {};
}

}  // namespace walle::raster
