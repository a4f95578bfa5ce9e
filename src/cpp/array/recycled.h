// Memory of eager results, which come and go with every operator: faster to get than from the allocator, in
// whose hands `t * 2 + 1` of 100,000 numbers spends 240 of 270 us in page faults (glibc gives large blocks
// back to the system when they are freed, and takes them again).
#pragma once

#include "tensor/buffer.h"

namespace walle::array {

// 64-byte aligned, uninitialised. Any thread.
Result<Buffer> eager_buffer(size_t bytes);

}  // namespace walle::array
