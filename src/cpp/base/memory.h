// The one place that asks the system for tensor memory, so that tests can make any request fail.
//
// Thread-safe. Blocks are 64-byte aligned and sized in whole cache lines; from 2 MiB on they lie on huge
// pages where the system has them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace walle::base {

// nullptr when memory is short or the injected fault says so; never throws, never aborts.
void* aligned_allocate(size_t bytes);
void aligned_free(void* block);

// Tests only: `deny` is asked before each allocation (its running number and size); nullptr clears it.
using AllocationFault = bool (*)(uint64_t number, size_t bytes);
void set_allocation_fault(AllocationFault deny);

uint64_t allocation_count();

}  // namespace walle::base
