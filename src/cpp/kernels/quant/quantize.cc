#include "kernels/quant/quantize.h"

#include "base/checked.h"
#include "kernels/eltwise/cast.h"
#include "kernels/parallel.h"

namespace walle::kernels {

WALLE_PICK_PER_ISA(QuantTable, kQuantF32, quant_table)

namespace {
// Runs of elements that lie side by side and share a scale, or have one each.
struct Runs {
  explicit Runs(const QuantAxes& a)
      : axes(a), blocks(a.block > 0 ? base::ceil_div(a.axis, a.block) : a.axis) {
    lines = a.inner == 1;
    if (lines && a.block > 0) {  // a block of the last axis
      count = a.outer * blocks;
      length = std::min(a.block, a.axis);
    } else if (lines) {
      count = a.outer;
      length = a.axis;
    } else {
      count = a.outer * a.axis;
      length = a.inner;
    }
  }

  bool each() const { return lines ? axes.block == 0 && axes.axis > 1 : axes.block > 0; }

  // The first element of run r, how many it has, and its (first) scale.
  struct Run {
    int64_t at, n, scale;
  };
  Run run(int64_t r) const {
    if (lines && axes.block > 0) {
      const int64_t from = r % blocks * axes.block;
      return {r / blocks * axes.axis + from, std::min(axes.block, axes.axis - from), r};
    }
    if (lines) return {r * length, length, 0};
    const int64_t a = r % axes.axis;
    if (axes.block == 0) return {r * length, length, a};
    return {r * length, length, (r / axes.axis * blocks + a / axes.block) * axes.inner};
  }

  QuantAxes axes;
  int64_t blocks;
  int64_t count = 0, length = 0;
  bool lines = false;  // the axis is the last one
};

// fn(first element, elements, scales of them) for parts of runs, on threads.
template <class Fn>
void for_each_part(const QuantAxes& axes, const float* scales, const float* zeros, int threads, Fn fn) {
  if (axes.elements() == 0) return;
  const Runs runs(axes);
  // Counted as if the last block were as long as the others.
  parallel_ranges(runs.count * runs.length, kVectorGrain, threads, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin / runs.length; r * runs.length < end; ++r) {
      const Runs::Run run = runs.run(r);
      const int64_t from = std::max<int64_t>(begin - r * runs.length, 0);
      const int64_t to = std::min(end - r * runs.length, run.n);
      if (from >= to) continue;
      const int64_t scale = run.scale + (runs.each() ? from : 0);
      fn(run.at + from, to - from,
         QuantRun{.scale = scales + scale, .zero = zeros ? zeros + scale : nullptr, .each = runs.each()});
    }
  });
}
}  // namespace

int64_t QuantAxes::scales() const {
  if (block > 0) return outer * base::ceil_div(axis, block) * inner;
  return axis;
}

bool is_code(DType dtype) {
  return tensor::is_tiny_integer(dtype) || (tensor::is_integer(dtype) && tensor::dtype_bits(dtype) <= 16);
}

QuantCodes quant_codes(DType dtype) {
  const int bits = tensor::dtype_bits(dtype);
  if (bits == 32) return {.mask = -1};  // as it is
  const int32_t mask = (1 << bits) - 1;
  if (!tensor::has_signed_code(dtype)) return {.mask = mask, .high = static_cast<float>(mask)};
  const int32_t sign = 1 << (bits - 1);
  return {.mask = mask, .sign = sign, .low = -static_cast<float>(sign), .high = static_cast<float>(sign - 1)};
}

void read_zero_points(DType dtype, const void* from, int64_t n, float* to) {
  run_cast(dtype, from, DType::float32, to, n, false);
}

void run_quantize(const QuantTable& table, DType to, const QuantAxes& axes, const float* x,
                  const float* scales, const float* zeros, void* y, int threads) {
  const int64_t size = tensor::dtype_size(to);
  const QuantCodes codes = quant_codes(to);
  const auto quantize = table.quantize[size - 1];
  for_each_part(axes, scales, zeros, threads, [&](int64_t at, int64_t n, const QuantRun& run) {
    quantize(x + at, static_cast<std::byte*>(y) + at * size, n, run, codes);
  });
}

void run_dequantize(const QuantTable& table, DType from, const QuantAxes& axes, const void* x,
                    const float* scales, const float* zeros, float* y, int threads) {
  const int64_t size = tensor::dtype_size(from);
  const QuantCodes codes = quant_codes(from);
  const auto dequantize = table.dequantize[size == 4 ? 2 : size - 1];
  for_each_part(axes, scales, zeros, threads, [&](int64_t at, int64_t n, const QuantRun& run) {
    dequantize(static_cast<const std::byte*>(x) + at * size, y + at, n, run, codes);
  });
}

}  // namespace walle::kernels
