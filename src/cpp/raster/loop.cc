#include "raster/loop.h"

#include <algorithm>
#include <cstring>

namespace walle::raster {

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
  return dtype == DType::int32 ? static_cast<const int32_t*>(indices)[i] : static_cast<const int64_t*>(indices)[i];
}
}  // namespace

Status run_loop_reference(const LoopSpec& spec, DType dtype, const void* data, DType index_dtype, const void* indices,
                          const void* base, void* dst, int64_t dst_elements) {
  const int64_t size = dtype_size(dtype);
  if (spec.base && dst_elements > 0) std::memcpy(dst, base, static_cast<size_t>(dst_elements * size));
  Raster round;
  round.regions.push_back(spec.body);
  for (int64_t i = 0; i < spec.count; ++i) {
    int64_t index = read_index(index_dtype, indices, i);
    if (index < -spec.index_bound || index >= spec.index_bound)
      return model_error("index " + std::to_string(index) + " at position " + std::to_string(i),
                         "an index in [" + std::to_string(-spec.index_bound) + ", " + std::to_string(spec.index_bound - 1) + "]", "indices",
                         "clip or correct the indices");
    if (index < 0) index += spec.index_bound;
    Region& r = round.regions[0];
    r.src.offset = spec.body.src.offset + i * spec.src_step + (spec.index_on_dst ? 0 : index * spec.index_stride);
    r.dst.offset = spec.body.dst.offset + i * spec.dst_step + (spec.index_on_dst ? index * spec.index_stride : 0);
    if (spec.combine == Combine::assign) {
      WALLE_TRY(copy_reference(round, dtype, &data, dst, 0));
      continue;
    }
    const bool numeric = tensor::visit_numeric(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      combine_round(r, spec.combine, static_cast<const T*>(data), static_cast<T*>(dst));
    });
    if (!numeric)
      return model_error("a combining loop of " + std::string(dtype_name(dtype)), "a numeric dtype", "loop", "cast to float32 first");
  }
  return {};
}

}  // namespace walle::raster
