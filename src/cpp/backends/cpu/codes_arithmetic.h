// QLinearAdd, QLinearMul and CodeLookup in the kernels' terms, whatever the layout of their operands.
#pragma once

#include <memory>
#include <string_view>

#include "backends/cpu/codes.h"

namespace walle::backends::cpu {

// Nothing where scales or zero points are computed.
std::optional<kernels::CodesBinary> codes_binary(const NodeView& node);

// Over `n` bytes of two operands that lie alike in `memory`.
Result<std::unique_ptr<Kernel>> codes_binary_kernel(const NodeView& node, const Memory& memory, int64_t n);
// By what a session looks codes up: a set, or what stands beside it.
Result<std::string_view> codes_lookup_set();
Result<std::unique_ptr<Kernel>> codes_lookup_kernel(const NodeView& node, const Memory& memory, int64_t n);

// Of QLinearGlobalAveragePool; nothing where scales or zero points are computed, or a sum could leave int32.
std::optional<kernels::CodesMean> codes_mean_of(const NodeView& node);

}  // namespace walle::backends::cpu
