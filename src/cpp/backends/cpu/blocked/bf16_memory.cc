#include "backends/cpu/blocked/bf16_memory.h"

#include "backends/cpu/cpu_op.h"

namespace walle::backends::cpu {

namespace {
bool is_kept(DType dtype, const Shape& shape) { return dtype == DType::float32 && shape.rank() == 4; }

int64_t plain_bytes(DType dtype, const Shape& shape) { return shape.elements() * dtype_size(dtype); }

// What both directions need: how this processor rounds and how it turns blocks.
struct Turns {
  const kernels::BlockedBf16Table* images;
  const kernels::BlockedTable* blocks;
};
Result<Turns> turns_here() {
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  const auto* form = bf16_form_here();
  if (!form) return internal_error("a processor that rounds to no bfloat16", "blocked_bf16 memory");
  return Turns{form->table, &kernels::blocked_table(isa)};
}
}  // namespace

Bf16Memory& bf16_memory() {
  static Bf16Memory memory;
  return memory;
}

const kernels::Variant<kernels::BlockedBf16Table>* bf16_form_here() {
  const auto usable = kernels::usable_capabilities();
  return usable.ok() ? kernels::blocked_bf16_form(*usable) : nullptr;
}

DType Bf16Memory::kept_as(DType dtype, const Shape& shape) const {
  return is_kept(dtype, shape) ? DType::bfloat16 : dtype;
}

int64_t Bf16Memory::bytes_of(DType dtype, const Shape& shape) const {
  if (!is_kept(dtype, shape)) return plain_bytes(dtype, shape);
  return blocked_shape(shape).floats() * dtype_size(DType::bfloat16);
}

bool Bf16Memory::row_major(DType dtype, const Shape& shape) const {
  return !is_kept(dtype, shape) || shape.elements() == 0;
}

Status Bf16Memory::bring_in(Handle to, const void* from, DType dtype, const Shape& shape, int threads) {
  if (row_major(dtype, shape)) return copy_in(to, from, plain_bytes(dtype, shape));
  WALLE_ASSIGN(const Turns turns, turns_here());
  kernels::to_blocked_bf16(*turns.images, *turns.blocks, blocked_shape(shape),
                           static_cast<const float*>(from), reinterpret_cast<uint16_t*>(pointer(to)),
                           threads);
  return {};
}

Status Bf16Memory::bring_out(void* to, Handle from, DType dtype, const Shape& shape, int threads) {
  if (row_major(dtype, shape)) return copy_out(to, from, plain_bytes(dtype, shape));
  WALLE_ASSIGN(const Turns turns, turns_here());
  kernels::from_blocked_bf16(*turns.images, *turns.blocks, blocked_shape(shape),
                             reinterpret_cast<const uint16_t*>(pointer(from)), static_cast<float*>(to),
                             threads);
  return {};
}

// Turned as float32 is, a few pixels in the first-level cache at a time; the blocks are half of the bytes.
std::optional<Features> Bf16Memory::conversion(DType dtype, const Shape& shape, int threads) const {
  auto f = blocked_memory().conversion(dtype, shape, threads);
  if (!f || row_major(dtype, shape)) return f;
  const auto rows = static_cast<double>(plain_bytes(dtype, shape));
  const auto floats = static_cast<double>(blocked_memory().bytes_of(dtype, shape));
  (*f)[level_of(rows + floats)] -= rows + floats;
  (*f)[level_of(rows + floats / 2)] += rows + floats / 2;
  (*f)[Quantity::l1_bytes] += 2 * floats;
  return f;
}

}  // namespace walle::backends::cpu
