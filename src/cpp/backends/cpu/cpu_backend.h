// The CPU backend: kernels for every atomic operator, and the composites it runs whole. Stateless.
#pragma once

#include "backends/backend.h"

namespace walle::backends::cpu {

const Backend& cpu_backend();

}  // namespace walle::backends::cpu
