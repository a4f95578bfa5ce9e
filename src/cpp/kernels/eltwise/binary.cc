#include "kernels/eltwise/binary.h"

#include "kernels/eltwise/zip.h"

namespace walle::kernels {

namespace detail {

namespace {
// Without the last axis: its elements are rows.
Broadcast rows_of(const Broadcast& b) {
  Broadcast out = b;
  if (b.rank == 1) {
    out.size[0] = 1;
    for (auto& stride : out.stride) stride[0] = 0;
  } else {
    --out.rank;
  }
  out.elements = b.elements / b.size[b.rank - 1];
  return out;
}
}  // namespace

void walk_runs(const Broadcast& b, ZipSizes sizes, const void* x, const void* y, void* out, int64_t begin,
               int64_t end, void (*run)(const ZipRun& run)) {
  const int last = b.rank - 1;
  const int64_t row = b.size[last];
  const Broadcast rows = rows_of(b);
  const auto go = [&](int64_t at, int64_t x_at, int64_t y_at, int64_t n, int64_t count) {
    run({.x = static_cast<const std::byte*>(x) + x_at * sizes.element,
         .y = static_cast<const std::byte*>(y) + y_at * sizes.element,
         .out = static_cast<std::byte*>(out) + at * sizes.result,
         .x_step = b.stride[0][last],
         .y_step = b.stride[1][last],
         .n = n,
         .x_row = rows.stride[0][rows.rank - 1],
         .y_row = rows.stride[1][rows.rank - 1],
         .rows = count});
  };
  // A part of a row: a thread may begin and end within one.
  const auto part = [&](int64_t from, int64_t to) {
    for_each_run(b, from, to,
                 [&](int64_t at, const auto& offset, int64_t n) { go(at, offset[0], offset[1], n, 1); });
  };
  const int64_t first = (begin + row - 1) / row;
  const int64_t behind = end / row;
  if (first > behind) return part(begin, end);
  if (begin < first * row) part(begin, first * row);
  if (first < behind)
    for_each_run(rows, first, behind, [&](int64_t at, const auto& offset, int64_t count) {
      go(at * row, offset[0], offset[1], row, count);
    });
  if (behind * row < end) part(behind * row, end);
}

}  // namespace detail

namespace {
DType unsigned_of(DType dtype) {
  if (dtype == DType::int8) return DType::uint8;
  if (dtype == DType::int16) return DType::uint16;
  if (dtype == DType::int32) return DType::uint32;
  return dtype == DType::int64 ? DType::uint64 : dtype;
}

// A bool is a byte of 0 or 1: what is and of bits is and of truths, too.
BinaryKind of_bits(BinaryKind kind) {
  if (kind == BinaryKind::logical_and) return BinaryKind::bit_and;
  if (kind == BinaryKind::logical_or) return BinaryKind::bit_or;
  return kind == BinaryKind::logical_xor ? BinaryKind::bit_xor : kind;
}
}  // namespace

void run_binary(BinaryKind kind, DType dtype, const Broadcast& b, const void* x, const void* y, void* out,
                int64_t begin, int64_t end) {
  if (begin >= end) return;
  kind = of_bits(kind);
  // Of a bool min is and, max is or, and it compares as an integer.
  const DType plain = dtype == DType::boolean ? DType::uint8 : dtype;
  const DType as = detail::ignores_sign(kind) ? unsigned_of(plain) : plain;
  // One file per class, because every kind is compiled for some ten dtypes: together they would be the
  // slowest file of the build.
  switch (tensor::binary_class(kind)) {
    case tensor::BinaryClass::arithmetic:
    case tensor::BinaryClass::order: return detail::run_arithmetic(kind, as, b, x, y, out, begin, end);
    case tensor::BinaryClass::logic:
    case tensor::BinaryClass::bits: return detail::run_bits(kind, as, b, x, y, out, begin, end);
    case tensor::BinaryClass::compare: return detail::run_compare(kind, as, b, x, y, out, begin, end);
  }
}

}  // namespace walle::kernels
