// Cast on the CPU, between any two dtypes: a loop per pair, and vectors for the pairs that networks convert
// activations between: float16 and bfloat16 to float32 and float32 to float16, floats to integers.
#include "kernels/eltwise/cast.h"

#include <algorithm>
#include <array>

#include "backends/cpu/cpu_op.h"
#include "kernels/eltwise/eltwise.h"
#include "kernels/eltwise/saturate.h"
#include "kernels/halves/halves.h"
#include "kernels/parallel.h"

namespace walle::backends::cpu {

namespace {
bool saturates(const NodeView& node) { return node.attrs().get_int("saturate_integers", 0) != 0; }

bool supports(const NodeView& node) {
  return !saturates(node) || kernels::can_saturate(node.dtype(0), node.out_dtype(0));
}

enum Choice { kLoop, kSimd, kWiden };

// Nothing where this instruction set has no vectors for the pair.
using Convert = void (*)(const kernels::EltwiseTable& table, const void* from, DType to, void* out,
                         int64_t n);

constexpr int64_t kBlock = 1024;  // of what goes by way of another dtype

// By way of int32, whose low bits are those of the integers that the definition goes through; values beyond
// it take the definition's way.
void convert_to_integer(const kernels::EltwiseTable& table, const void* from, DType to, void* out,
                        int64_t n) {
  std::array<int32_t, kBlock> whole;
  const auto* x = static_cast<const float*>(from);
  auto* y = static_cast<std::byte*>(out);
  for (int64_t at = 0; at < n; at += kBlock, y += kBlock * dtype_size(to)) {
    const int64_t count = std::min(kBlock, n - at);
    auto* room = to == DType::int32 ? reinterpret_cast<int32_t*>(y) : whole.data();
    const bool fits = table.to_int32(x + at, room, count);
    if (fits && to == DType::int32) continue;
    kernels::run_cast(fits ? DType::int32 : DType::float32,
                      fits ? static_cast<const void*>(whole.data()) : x + at, to, y, count, false);
  }
}

// float32 holds every float16, and what comes of both is the same.
void convert_from_half(const kernels::EltwiseTable& table, const void* from, DType to, void* out, int64_t n) {
  std::array<float, kBlock> wide;
  const auto* x = static_cast<const uint16_t*>(from);
  auto* y = static_cast<std::byte*>(out);
  for (int64_t at = 0; at < n; at += kBlock, y += kBlock * dtype_size(to)) {
    const int64_t count = std::min(kBlock, n - at);
    table.from_half(x + at, wide.data(), count);
    if (to == DType::boolean)
      kernels::run_cast(DType::float32, wide.data(), to, y, count, false);
    else
      convert_to_integer(table, wide.data(), to, y, count);
  }
}

Convert converter(const kernels::EltwiseTable& table, DType from, DType to) {
  const bool whole = tensor::is_integer(to) && !tensor::is_storage_only(to);
  if (from == DType::float32 && whole) return convert_to_integer;
  if (from == DType::float16 && (whole || to == DType::boolean) && table.from_half) return convert_from_half;
  if (from == DType::float32 && to == DType::float16 && table.to_half)
    return [](const kernels::EltwiseTable& t, const void* x, DType, void* y, int64_t n) {
      t.to_half(static_cast<const float*>(x), static_cast<uint16_t*>(y), n);
    };
  return nullptr;
}

bool widens(const NodeView& node) {
  return tensor::is_half_float(node.dtype(0)) && node.out_dtype(0) == DType::float32;
}

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  if (saturates(node)) {
    out.push_back(single_candidate(node, "eltwise_saturate", threads));
    return;
  }
  out.push_back(reference_candidate(node, "eltwise_cast_reference", threads));
  const auto isa = kernels::select_isa();
  if (!isa.ok()) return;
  const bool widened = widens(node);
  if (!widened && !converter(kernels::eltwise_table(*isa), node.dtype(0), node.out_dtype(0))) return;
  Candidate c = vector_candidate(node, "eltwise_cast_f32", *isa, threads, widened ? kWiden : kSimd);
  c.features.kernel =
      "eltwise_unary_f32";  // as much waiting for bytes, and as little arithmetic, as a negation
  c.features[Quantity::flop] = static_cast<double>(node.out_shape(0).elements());
  out.push_back(std::move(c));
}

Result<std::unique_ptr<Kernel>> simd_kernel(const NodeView& node) {
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  const kernels::EltwiseTable& table = kernels::eltwise_table(isa);
  const DType from = node.dtype(0);
  const DType to = node.out_dtype(0);
  return make_kernel([&table, from, to, run = converter(table, from, to),
                      n = node.out_shape(0).elements()](const HostArgs& a) -> Status {
    kernels::parallel_ranges(n, kernels::kVectorGrain, a.threads, [&](int64_t begin, int64_t end) {
      run(table, a.input<std::byte>(0) + begin * dtype_size(from), to,
          a.output<std::byte>(0) + begin * dtype_size(to), end - begin);
    });
    return {};
  });
}

Result<std::unique_ptr<Kernel>> widening_kernel(const NodeView& node) {
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  const kernels::HalfForm& form = kernels::half_form(isa, node.dtype(0) == DType::bfloat16);
  return make_kernel([&form, n = node.out_shape(0).elements()](const HostArgs& a) -> Status {
    kernels::parallel_ranges(n, kernels::kVectorGrain, a.threads, [&](int64_t begin, int64_t end) {
      form.widen(a.input<uint16_t>(0) + begin, a.output<float>(0) + begin, end - begin);
    });
    return {};
  });
}

Result<std::unique_ptr<Kernel>> saturating_kernel(const NodeView& node) {
  return make_kernel([from = node.dtype(0), to = node.out_dtype(0),
                      n = node.out_shape(0).elements()](const HostArgs& a) -> Status {
    kernels::parallel_ranges(n, kernels::kScalarGrain, a.threads, [&](int64_t begin, int64_t end) {
      kernels::run_saturate(from, a.input<std::byte>(0) + begin * dtype_size(from), to,
                            a.output<std::byte>(0) + begin * dtype_size(to), end - begin);
    });
    return {};
  });
}

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate& candidate, PrepareContext&) {
  if (saturates(node)) return saturating_kernel(node);
  if (candidate.choice == kWiden) return widening_kernel(node);
  if (candidate.choice == kSimd) return simd_kernel(node);
  // "saturate" is asked of 8-bit floats only, "round_mode" of float8e8m0, whose values are powers of two.
  const bool saturate = node.attrs().get_int("saturate", 1) != 0;
  const std::string mode = node.attrs().get_string("round_mode", "up");
  const auto rounding = mode == "down"      ? tensor::PowerRounding::down
                        : mode == "nearest" ? tensor::PowerRounding::nearest
                                            : tensor::PowerRounding::up;
  return make_kernel([=, from = node.dtype(0), to = node.out_dtype(0),
                      n = node.out_shape(0).elements()](const HostArgs& a) -> Status {
    kernels::parallel_ranges(n, kernels::kScalarGrain, a.threads, [&](int64_t begin, int64_t end) {
      kernels::run_cast(from, a.input<std::byte>(0) + begin * dtype_size(from), to,
                        a.output<std::byte>(0) + begin * dtype_size(to), end - begin, saturate, rounding);
    });
    return {};
  });
}
}  // namespace

extern const CpuOp kCastCpu{.op = "Cast", .supports = supports, .candidates = candidates, .prepare = prepare};

}  // namespace walle::backends::cpu
