// The CPU with images kept as bfloat16, blocked by channels: half the bytes between layers. A backend of its
// own, as BlockedBackend is, for sessions that let values be rounded.
#pragma once

#include "backends/backend.h"

namespace walle::backends::cpu {

const Backend& bf16_blocks_backend();

// The same with its operands on the host, row-major: a network's first convolutions.
const Backend& rows_to_bf16_backend();

// The same with results of float32, in blocks: what a session hands out, or reads where it is not kept so.
const Backend& bf16_to_blocks_backend();

}  // namespace walle::backends::cpu
