// SessionDebug: what a session does otherwise than it would, for comparison alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace walle::runtime {

struct SessionDebug {
#define WALLE_SESSION_SWITCH(name) bool name = true;
#include "runtime/session_switch.inc"
  // Which of several backends runs a node: the cheapest, or with a seed any that can, by lot.
  std::optional<uint64_t> placement;
};

// "search=off,placement=random:7"; empty: nothing otherwise. An argument error for another word.
Result<SessionDebug> parse_debug(std::string_view text);

}  // namespace walle::runtime
