#include "backends/cpu/blocked/blocked_memory.h"

#include "backends/cpu/codes.h"

namespace walle::backends::cpu {

namespace {
bool is_blocked(DType dtype, const Shape& shape) {
  return (dtype == DType::float32 || is_code(dtype)) && shape.rank() == 4;
}

int64_t plain_bytes(DType dtype, const Shape& shape) { return shape.elements() * dtype_size(dtype); }
}  // namespace

BlockedMemory& blocked_memory() {
  static BlockedMemory memory;
  return memory;
}

int64_t BlockedMemory::bytes_of(DType dtype, const Shape& shape) const {
  if (!is_blocked(dtype, shape)) return plain_bytes(dtype, shape);
  return blocked_shape(shape).floats() * dtype_size(dtype);
}

bool BlockedMemory::row_major(DType dtype, const Shape& shape) const {
  // One pixel of whole blocks is a row of channels.
  return !is_blocked(dtype, shape) || shape.elements() == 0 ||
         (shape[2] * shape[3] == 1 && shape[1] % kernels::kBlock == 0);
}

Status BlockedMemory::bring_in(Handle to, const void* from, DType dtype, const Shape& shape, int threads) {
  if (row_major(dtype, shape)) return copy_in(to, from, plain_bytes(dtype, shape));
  if (is_code(dtype)) {
    kernels::codes_to_blocked(blocked_shape(shape), static_cast<const uint8_t*>(from),
                              reinterpret_cast<uint8_t*>(pointer(to)), threads);
    return {};
  }
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  kernels::to_blocked(kernels::blocked_table(isa), blocked_shape(shape), static_cast<const float*>(from),
                      reinterpret_cast<float*>(pointer(to)), threads);
  return {};
}

Status BlockedMemory::bring_out(void* to, Handle from, DType dtype, const Shape& shape, int threads) {
  if (row_major(dtype, shape)) return copy_out(to, from, plain_bytes(dtype, shape));
  if (is_code(dtype)) {
    kernels::codes_from_blocked(blocked_shape(shape), reinterpret_cast<const uint8_t*>(pointer(from)),
                                static_cast<uint8_t*>(to), threads);
    return {};
  }
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  kernels::from_blocked(kernels::blocked_table(isa), blocked_shape(shape),
                        reinterpret_cast<const float*>(pointer(from)), static_cast<float*>(to), threads);
  return {};
}

std::optional<Features> BlockedMemory::conversion(DType dtype, const Shape& shape, int threads) const {
  const auto isa = kernels::select_isa();
  if (!isa.ok()) return std::nullopt;
  Features f{.kernel = is_code(dtype) ? "blocked_turn_codes" : "blocked_turn_f32",
             .isa = isa_name(*isa),
             .threads = threads};
  const auto bytes = static_cast<double>(plain_bytes(dtype, shape) + bytes_of(dtype, shape));
  f[level_of(bytes)] = bytes;
  f[Quantity::calls] = 1;
  // Rows of so many channels are read side by side, however few pixels they have.
  if (!row_major(dtype, shape)) f[Quantity::tiles] = static_cast<double>(blocked_shape(shape).blocks());
  return f;
}

}  // namespace walle::backends::cpu
