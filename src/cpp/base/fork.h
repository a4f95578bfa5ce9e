// Which process this is, at the price of reading a variable: getpid() is a system call, 50 to 300 ns, and an
// append to the event log takes 100.
#pragma once

#include <atomic>
#include <cstdint>

namespace walle::base {

namespace fork_detail {
extern std::atomic<uint64_t> generation;
}

// From now on forks are counted. Cheap after the first call.
void watch_for_forks();
// How many forks lie between the process that first watched and this one: an object that remembers the number
// it was made under knows whether it has come into a child.
inline uint64_t fork_generation() { return fork_detail::generation.load(std::memory_order_relaxed); }

}  // namespace walle::base
