// The CPU with values blocked by channels: a backend of its own, because a layout is a memory. The search
// decides operator by operator, conversions are its copies, and what has no kernel here stays row-major.
#pragma once

#include "backends/backend.h"

namespace walle::backends::cpu {

const Backend& blocked_backend();

}  // namespace walle::backends::cpu
