// RollingSpec: a feature that is kept per key, as a task declares it: the number, sum, mean, least or
// greatest value of the key's newest events, by time or by number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stream/trigger/trigger_spec.h"

namespace walle::stream {

enum class RollingKind : uint8_t {
#define WALLE_ROLLING_KIND(number, kind) kind = number,
#include "stream/rolling/rolling_kind.inc"
};
inline constexpr std::string_view kRollingKinds[] = {
#define WALLE_ROLLING_KIND(number, kind) #kind,
#include "stream/rolling/rolling_kind.inc"
};
inline constexpr auto kLastRollingKind = RollingKind::max;

// Of a window by number: 400 KB a key, and what one lookup walks over.
inline constexpr uint32_t kMaxRollingEvents = 16'384;
inline constexpr uint32_t kMaxRollingKeys = kMaxScopeKeys;

struct RollingSpec {
  std::string name;
  std::string event;            // canonical: one event, with its page and predicate: buy@cart[price > 10]
  std::vector<std::string> by;  // fields of it, in the order of a key's parts
  RollingKind kind = RollingKind::count;
  std::string value;         // a field of numbers; empty: of count
  int64_t over_us = 0;       // events that are no older count; 0: by number
  uint32_t over_events = 0;  // the newest so many; 0: by time
  uint32_t keys = 4096;      // that are held in memory at most
  friend bool operator==(const RollingSpec&, const RollingSpec&) = default;
  // All but the name.
  bool declares_as(const RollingSpec& o) const;
};

// The one step that `event` of a spec is.
Result<Atom> rolling_event(std::string_view text);
// Whether it means something whatever the catalogue.
Status check_rolling(const RollingSpec& spec);

}  // namespace walle::stream
