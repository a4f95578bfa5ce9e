// One number for a record in every trace: the device's, from gate to tunnel and from answer to row, and its
// server's. docs/concepts/cloud-phase.md.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/hash.h"

namespace walle::base {

// Below 2^53: traces are JSON, whose numbers many readers hold as doubles.
inline int64_t record_trace_id(std::string_view stream, uint64_t seq) {
  return static_cast<int64_t>(Hasher().text(stream).value(seq).finish() >> 11);
}

}  // namespace walle::base
