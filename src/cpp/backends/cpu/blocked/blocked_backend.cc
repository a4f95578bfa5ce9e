#include "backends/cpu/blocked/blocked_backend.h"

#include "backends/cpu/blocked/blocked_op.h"
#include "backends/cpu/codes.h"
#include "backends/cpu/profile.h"
#include "backends/cpu/table_backend.h"

namespace walle::backends::cpu {

namespace {
class BlockedBackend : public TableBackend {
 public:
  std::string_view name() const override { return "cpu_blocked"; }
  Memory& memory() const override { return blocked_memory(); }
  Status ready() const override { return kernels::select_isa().status(); }
  std::string target() const override {
    const auto chosen = kernels::select_isa();
    return chosen.ok() ? std::string(isa_name(*chosen)) + ", blocked by 16 channels" : "";
  }
  std::string device() const override { return processor_name(); }

  bool supports(const NodeView& node) const override {
    return node.has(0) && (float_isa(node) || is_code(node.dtype(0))) && TableBackend::supports(node);
  }

 private:
  const CpuOp* find(const ir::OpDef& op) const override {
    for (const CpuOp* row :
         {&kBlockedConv, &kBlockedBinary, &kBlockedUnary, &kBlockedMaxPool, &kBlockedAveragePool,
          &kBlockedReduce, &kBlockedRaster, &kBlockedQuantizedConv, &kBlockedQLinearAdd, &kBlockedQLinearMul,
          &kBlockedCodeLookup, &kBlockedCodesMean})
      if (op.name == row->op || op.family == row->op) return row;
    return nullptr;
  }
};

class RowsToBlocksBackend final : public BlockedBackend {
 public:
  std::string_view name() const override { return "cpu_rows_to_blocks"; }
  Memory& source() const override { return host_memory(); }

 private:
  const CpuOp* find(const ir::OpDef& op) const override {
    for (const CpuOp* row : {&kRowsToBlocksConv, &kRowsToBlocksQuantizedConv})
      if (op.name == row->op) return row;
    return nullptr;
  }
};
}  // namespace

const Backend& blocked_backend() {
  static const BlockedBackend instance;  // immutable: one serves every session
  return instance;
}

const Backend& rows_to_blocks_backend() {
  static const RowsToBlocksBackend instance;
  return instance;
}

}  // namespace walle::backends::cpu
