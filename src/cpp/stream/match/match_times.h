// Times in snapshots of matching: none makes a sum or difference overflow that is made of it.
#pragma once

#include "base/bytes.h"
#include "stream/event/event.h"

namespace walle::stream {

inline constexpr int64_t kNever = INT64_MIN;  // the time of what never was

inline int64_t get_time(base::ByteReader& in) { return in.checked(-kMaxTimeUs, kMaxTimeUs); }

// The same, or kNever.
inline int64_t get_past_time(base::ByteReader& in) {
  base::ByteReader ahead = in;
  if (ahead.get<int64_t>() != kNever || !ahead.ok()) return get_time(in);
  in = ahead;
  return kNever;
}

}  // namespace walle::stream
