// What the real processor can do, asked once: capabilities whose registers the operating system also saves,
// and cache sizes. Blocks and plans ask cpu_features(), whose answer a given machine replaces.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/capabilities.h"
#include "base/core_kinds.h"

namespace walle::base {

struct CpuFeatures {
  Capabilities has;
  // Data, of one core: of the fastest kind, where there are several. Modest guesses where the system does not
  // say: blocks made for a smaller cache fit a larger one, and not the other way round.
  int64_t l1_bytes = 32 << 10;
  int64_t l2_bytes = 512 << 10;
  // What a core may count on of the outer cache, which others use as well: outer_share(l2_bytes), whatever
  // the system of an x86-64 machine says of its size. Where it is known to be less or none, that; never less
  // than l2_bytes.
  int64_t outer_bytes = 0;
};

// 8 to 32 MB where a core's own cache has 0.5 to 2.
constexpr int64_t outer_share(int64_t l2_bytes) { return 16 * l2_bytes; }

// Immutable after the first call; thread-safe.
const CpuFeatures& detected_cpu_features();
const std::vector<CoreKind>& detected_cores();

// The parts of it, for tests on any machine.
//
// Of arm64 Linux, by the auxiliary vector's AT_HWCAP and AT_HWCAP2: the kernel has asked all cores and names
// what they have in common.
Capabilities arm_capabilities(uint64_t hwcap, uint64_t hwcap2);
// With the caches of the first of these.
CpuFeatures features_of_cores(Capabilities has, std::span<const CoreKind> kinds);

}  // namespace walle::base
