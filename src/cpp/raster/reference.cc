#include "raster/reference.h"

#include <algorithm>
#include <cstring>

namespace walle::raster {

namespace {
// Calls body(source element, destination element) for every index vector, the last axis fastest. An odometer
// instead of a division per axis and element: both addresses follow by one addition per axis that turns.
template <class Body>
void for_each_pair(const Region& r, Body&& body) {
  if (r.elements() <= 0) return;
  Axes index{};
  int64_t src = r.src.offset;
  int64_t dst = r.dst.offset;
  while (true) {
    body(src, dst);
    int a = r.rank - 1;
    for (; a >= 0; --a) {
      src += r.src.stride[a];
      dst += r.dst.stride[a];
      if (++index[a] < r.size[a]) break;
      src -= r.src.stride[a] * r.size[a];
      dst -= r.dst.stride[a] * r.size[a];
      index[a] = 0;
    }
    if (a < 0) return;
  }
}

// Bytes are copied without knowing what they mean: movement is defined for strings of bits of every dtype,
// NaNs keep their payload.
void copy_region(const Region& r, int64_t element, const std::byte* src, std::byte* dst) {
  for_each_pair(r, [&](int64_t s, int64_t d) { std::memcpy(dst + d * element, src + s * element, element); });
}

Error not_numeric(Text what, DType dtype, Text where) {
  return model_error({what, " of ", dtype_name(dtype)}, "a numeric dtype", where, "cast to float32 first");
}
}  // namespace

Status copy_reference(const Raster& raster, DType dtype, const void* const* sources, void* dst,
                      int64_t dst_elements) {
  const int64_t size = dtype_size(dtype);
  auto* out = static_cast<std::byte*>(dst);
  // Everywhere first, then the regions over it: what no region covers keeps the fill, and sums start from 0.
  if (raster.fill)
    for (int64_t i = 0; i < dst_elements; ++i) std::memcpy(out + i * size, raster.fill->bytes.data(), size);
  for (const Region& r : raster.regions) {
    const auto* src = static_cast<const std::byte*>(sources[r.source]);
    if (!raster.accumulate) {
      copy_region(r, size, src, out);
      continue;
    }
    const bool numeric = tensor::visit_numeric(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const auto* from = reinterpret_cast<const T*>(src);
      auto* to = reinterpret_cast<T*>(out);
      for_each_pair(r, [&](int64_t s, int64_t d) { to[d] = static_cast<T>(to[d] + from[s]); });
    });
    if (!numeric) return not_numeric("an accumulating raster", dtype, "raster");
  }
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

int64_t read_index(DType dtype, const void* indices, int64_t i) {
  return dtype == DType::int32 ? static_cast<const int32_t*>(indices)[i]
                               : static_cast<const int64_t*>(indices)[i];
}

// The offset the index tuple of round i adds.
Result<int64_t> index_offset(const LoopSpec& spec, DType dtype, const void* indices, int64_t round) {
  int64_t offset = 0;
  const auto depth = static_cast<int64_t>(spec.index.size());
  for (int64_t c = 0; c < depth; ++c) {
    const LoopIndex& component = spec.index[c];
    const int64_t bound = component.bound;
    const int64_t index = read_index(dtype, indices, round * depth + c);
    if (index < -bound || index >= bound)
      return model_error({"index ", index, " at position ", round * depth + c},
                         {"an index in [", -bound, ", ", bound - 1, "]"}, "indices",
                         "clip or correct the indices");
    offset += (index < 0 ? index + bound : index) * component.stride;
  }
  return offset;
}

// The body as round i sees it: moved by the index tuple on one side and by the round's place in the box, read
// off its number in row-major order, on both.
Region body_of_round(const LoopSpec& spec, int64_t round, int64_t moved) {
  Region r = spec.body;
  (spec.index_on_dst ? r.dst : r.src).offset += moved;
  int64_t rest = round;
  for (int a = spec.rank - 1; a >= 0; --a) {
    r.src.offset += rest % spec.size[a] * spec.src_step[a];
    r.dst.offset += rest % spec.size[a] * spec.dst_step[a];
    rest /= spec.size[a];
  }
  return r;
}
}  // namespace

Status run_loop_reference(const LoopSpec& spec, DType dtype, const void* data, DType index_dtype,
                          const void* indices, const void* base, void* dst, int64_t dst_elements) {
  const int64_t size = dtype_size(dtype);
  if (spec.base && dst_elements > 0) std::memcpy(dst, base, dst_elements * size);
  const int64_t count = spec.count();
  // In order, so that of two updates of one element the later stays. ONNX leaves that open, NumPy does so.
  for (int64_t i = 0; i < count; ++i) {
    WALLE_ASSIGN(const int64_t moved, index_offset(spec, index_dtype, indices, i));
    const Region r = body_of_round(spec, i, moved);
    if (spec.combine == Combine::assign) {  // of any dtype
      copy_region(r, size, static_cast<const std::byte*>(data), static_cast<std::byte*>(dst));
      continue;
    }
    const bool numeric = tensor::visit_numeric(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const auto* from = static_cast<const T*>(data);
      auto* to = static_cast<T*>(dst);
      for_each_pair(r, [&](int64_t s, int64_t d) { to[d] = combined(spec.combine, to[d], from[s]); });
    });
    if (!numeric) return not_numeric("a combining loop", dtype, "loop");
  }
  return {};
}

}  // namespace walle::raster
