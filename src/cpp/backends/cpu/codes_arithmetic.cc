#include "backends/cpu/codes_arithmetic.h"

#include <array>
#include <cstring>

#include "kernels/parallel.h"

namespace walle::backends::cpu {

// Factors in the order of the operators' definition (ops/composite/qlinear_arithmetic.cc).
std::optional<kernels::CodesBinary> codes_binary(const NodeView& node) {
  if (!is_code(node.dtype(0)) || !is_code(node.dtype(3))) return std::nullopt;
  const auto a = scale_of(node, 1), b = scale_of(node, 4), y = scale_of(node, 6);
  const auto a_zero = zero_of(node, 2), b_zero = zero_of(node, 5), y_zero = zero_of(node, 7);
  if (!a || !b || !y || !a_zero || !b_zero || !y_zero) return std::nullopt;
  const bool adds = node.op().name == "QLinearAdd";
  const CodeRange range = range_of(node, node.dtype(7), *y_zero, "low", "high");
  kernels::CodesBinary op{
      .a = {is_signed(node.dtype(0)), static_cast<float>(*a_zero), adds ? *a / *y : *a * *b / *y},
      .b = {is_signed(node.dtype(3)), static_cast<float>(*b_zero), adds ? *b / *y : 1},
      .low = range.low,
      .high = range.high,
      .zero = *y_zero};
  if (!std::isfinite(op.a.factor) || !std::isfinite(op.b.factor)) return std::nullopt;
  return op;
}

std::optional<kernels::CodesMean> codes_mean_of(const NodeView& node) {
  constexpr int64_t kMostPixels = 1 << 22;  // times 255 is below 2^31
  const auto x = scale_of(node, 1), y = scale_of(node, 3);
  const auto x_zero = zero_of(node, 2), y_zero = zero_of(node, 4);
  if (!x || !y || !x_zero || !y_zero || !is_code(node.dtype(0)) || node.shape(0).rank() != 4)
    return std::nullopt;
  const int64_t pixels = node.shape(0)[2] * node.shape(0)[3];
  if (node.shape(0).elements() == 0 || pixels > kMostPixels) return std::nullopt;
  const CodeRange range = range_of(node, node.dtype(4), *y_zero, "low", "high");
  const float factor = *x / (*y * static_cast<float>(pixels));
  if (!std::isfinite(factor)) return std::nullopt;
  return kernels::CodesMean{.is_signed = is_signed(node.dtype(0)),
                            .zero = *x_zero,
                            .factor = factor,
                            .low = range.low,
                            .high = range.high,
                            .y_zero = *y_zero};
}

Result<std::unique_ptr<Kernel>> codes_binary_kernel(const NodeView& node, const Memory& memory, int64_t n) {
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  const kernels::CodesTable& table = kernels::codes_table(isa);
  const auto run = node.op().name == "QLinearAdd" ? table.add : table.multiply;
  constexpr uint32_t kConstants = 0b1111'0110;  // scales and zero points
  return make_kernel_in(memory, kConstants, [op = *codes_binary(node), run, n](const HostArgs& a) -> Status {
    kernels::parallel_ranges(n, kernels::kVectorGrain, a.threads, [&](int64_t begin, int64_t end) {
      run(op, a.input<uint8_t>(0) + begin, a.input<uint8_t>(3) + begin, a.output<uint8_t>(0) + begin,
          end - begin);
    });
    return {};
  });
}

namespace {
Result<bool> looks_up_by_vbmi(kernels::Isa isa) {
  WALLE_ASSIGN(const base::Capabilities usable, kernels::usable_capabilities());
  return kernels::codes_table(isa).lookup_vbmi && usable.has(base::Capability::avx512_vbmi);
}
}  // namespace

Result<std::string_view> codes_lookup_set() {
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  WALLE_ASSIGN(const bool wide, looks_up_by_vbmi(isa));
  return wide ? std::string_view("avx512_vbmi") : isa_name(isa);
}

Result<std::unique_ptr<Kernel>> codes_lookup_kernel(const NodeView& node, const Memory& memory, int64_t n) {
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  // By the byte, whose order begins with 0 where codes begin with -128.
  std::array<uint8_t, 256> table;
  const auto* results = reinterpret_cast<const uint8_t*>(node.constant(1)->address());
  for (int i = 0; i < 256; ++i)
    table[static_cast<size_t>(is_signed(node.dtype(0)) ? i ^ 0x80 : i)] = results[i];
  WALLE_ASSIGN(const bool wide, looks_up_by_vbmi(isa));
  const kernels::CodesTable& kernel = kernels::codes_table(isa);
  const auto run = wide ? kernel.lookup_vbmi : kernel.lookup;
  return make_kernel_in(memory, 0b10, [table, n, run](const HostArgs& a) -> Status {
    kernels::parallel_ranges(n, kernels::kVectorGrain, a.threads, [&](int64_t begin, int64_t end) {
      run(a.input<uint8_t>(0) + begin, table.data(), a.output<uint8_t>(0) + begin, end - begin);
    });
    return {};
  });
}

}  // namespace walle::backends::cpu
