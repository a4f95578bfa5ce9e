// CRC-32C (Castagnoli), the checksum of every frame and block this runtime writes: the CPU's instruction
// where it has one, a table otherwise; both give the same value.
#pragma once

#include <cstddef>
#include <cstdint>

namespace walle::base {

// Continues `crc` (0 to start) over `size` bytes.
uint32_t crc32c(uint32_t crc, const void* data, size_t size);
uint32_t crc32c_portable(uint32_t crc, const void* data, size_t size);
// The same, and copies the bytes on the way. The _instruction form needs has_crc32c_instruction().
uint32_t crc32c_copy_portable(uint32_t crc, void* to, const void* from, size_t size);
uint32_t crc32c_copy_instruction(uint32_t crc, void* to, const void* from, size_t size);
bool has_crc32c_instruction();

}  // namespace walle::base
