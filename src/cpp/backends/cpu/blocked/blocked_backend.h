// The CPU with values blocked by channels: a backend of its own, because a layout is a memory. The search
// decides operator by operator, conversions are its copies, and what has no kernel here stays row-major.
#pragma once

#include "backends/backend.h"

namespace walle::backends::cpu {

const Backend& blocked_backend();

// The same with its operands on the host, row-major: what a network is given becomes blocks in its first
// convolution and not by a copy.
const Backend& rows_to_blocks_backend();

}  // namespace walle::backends::cpu
