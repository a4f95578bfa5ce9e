#pragma once

#include <cstdlib>

namespace walle {

// Whether qemu-user runs this program: whoever starts it says on which processor (preset arm64).
inline bool emulated() { return std::getenv("QEMU_CPU") != nullptr; }

}  // namespace walle
