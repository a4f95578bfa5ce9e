// CRC-32C (Castagnoli), the checksum of every frame and block this runtime writes: the CPU's instruction where it has
// one, a table otherwise; both give the same value.
#pragma once

#include <cstddef>
#include <cstdint>

namespace walle::base {

// Continues `crc` (0 to start) over `size` bytes.
uint32_t crc32c(uint32_t crc, const void* data, size_t size);
uint32_t crc32c_portable(uint32_t crc, const void* data, size_t size);

}  // namespace walle::base
