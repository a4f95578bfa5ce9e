// Element-wise operators over blocks of channels: which of them there are, whatever the images are kept in.
#pragma once

#include "backends/cpu/blocked/blocked_op.h"
#include "kernels/eltwise/eltwise.h"

namespace walle::backends::cpu {

std::optional<UnaryKind> unary_of(const NodeView& node);
std::optional<BinaryKind> binary_of(const NodeView& node);

bool is_blocked_unary(const NodeView& node);
bool is_blocked_binary(const NodeView& node);

// How operand i of a binary operator meets the result.
enum class Part : uint8_t { whole, number, channels, shared_channels, other };
Part part_of(const NodeView& node, int i);

std::optional<kernels::BlockedScale> scale_of(BinaryKind kind);
// The whole operand of a scaling, the other one being per channel; -1 where this is none.
int scaled(const NodeView& node);

// The kernel of rows, or one as fast, over other lanes: its row of the table holds.
Candidate same_work(const NodeView& node, std::string_view name, std::string_view kernel, kernels::Isa isa,
                    int threads);

}  // namespace walle::backends::cpu
