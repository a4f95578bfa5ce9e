#include "backends/cpu/blocked/bf16_backend.h"

#include <algorithm>

#include "backends/cpu/blocked/bf16_op.h"
#include "backends/cpu/profile.h"
#include "backends/cpu/table_backend.h"

namespace walle::backends::cpu {

namespace {
// A value is rounded once, to the 2^-8 of itself that an operand of a product in bfloat16 is anyway: twice
// what such a product is off by, if nothing but products reads it.
constexpr float kError = 2;

// Candidates count operands of float32: images are half of that here, and what is more than the caches of
// float32 hold may not be.
void count_halves(const NodeView& node, const Memory& source, const Memory& memory, Features& f) {
  double floats = 0, kept = 0;
  const auto add = [&](DType dtype, const Shape& shape, const Memory& in) {
    floats += static_cast<double>(shape.elements() * dtype_size(dtype));
    kept += static_cast<double>(shape.elements() * dtype_size(in.kept_as(dtype, shape)));
  };
  for (int i = 0; i < node.input_count(); ++i)
    if (node.has(i) && !node.constant(i)) add(node.dtype(i), node.shape(i), source);
  for (int i = 0; i < node.output_count(); ++i)
    if (node.has_output(i)) add(node.out_dtype(i), node.out_shape(i), memory);
  f[level_of(floats)] -= floats;
  f[level_of(kept)] += kept;
}

class Bf16Backend : public TableBackend {
 public:
  std::string_view name() const override { return "cpu_bf16_blocks"; }
  Memory& memory() const override { return bf16_memory(); }
  Status ready() const override {
    WALLE_TRY(kernels::select_isa().status());
    if (bf16_form_here()) return {};
    return backend_error("a processor without bfloat16", "avx512_bf16", name(), "use precision=\"float32\"");
  }
  std::string target() const override {
    const auto* form = bf16_form_here();
    return form ? std::string(form->name) + ", bfloat16 blocked by 16 channels" : "";
  }
  std::string device() const override { return processor_name(); }

  bool supports(const NodeView& node) const override {
    return node.has(0) && float_isa(node) && bf16_form_here() && TableBackend::supports(node);
  }

  std::vector<Candidate> candidates(const NodeView& node, int threads) const override {
    std::vector<Candidate> out = TableBackend::candidates(node, threads);
    for (Candidate& c : out) {
      c.arithmetic = Arithmetic::bfloat16;
      c.error = std::max(c.error, kError);
      count_halves(node, source(), memory(), c.features);
    }
    return out;
  }

 private:
  const CpuOp* find(const ir::OpDef& op) const override {
    for (const CpuOp* row : {&kBf16Conv, &kBf16Binary, &kBf16Unary, &kBf16MaxPool, &kBf16AveragePool,
                             &kBf16Reduce, &kBf16Raster})
      if (op.name == row->op || op.family == row->op) return row;
    return nullptr;
  }
};

class RowsToBf16Backend final : public Bf16Backend {
 public:
  std::string_view name() const override { return "cpu_rows_to_bf16"; }
  Memory& source() const override { return host_memory(); }

 private:
  const CpuOp* find(const ir::OpDef& op) const override {
    return op.name == kRowsToBf16Conv.op ? &kRowsToBf16Conv : nullptr;
  }
};

class Bf16ToBlocksBackend final : public Bf16Backend {
 public:
  std::string_view name() const override { return "cpu_bf16_to_blocks"; }
  Memory& memory() const override { return blocked_memory(); }
  Memory& source() const override { return bf16_memory(); }

 private:
  const CpuOp* find(const ir::OpDef& op) const override {
    for (const CpuOp* row : {&kBf16ToBlocksConv, &kBf16ToBlocksReduce})
      if (op.name == row->op || op.family == row->op) return row;
    return nullptr;
  }
};
}  // namespace

const Backend& bf16_blocks_backend() {
  static const Bf16Backend instance;  // immutable: one serves every session
  return instance;
}

const Backend& rows_to_bf16_backend() {
  static const RowsToBf16Backend instance;
  return instance;
}

const Backend& bf16_to_blocks_backend() {
  static const Bf16ToBlocksBackend instance;
  return instance;
}

}  // namespace walle::backends::cpu
