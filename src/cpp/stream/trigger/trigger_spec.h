// A trigger as its author wrote it: the tree that the parser and
// the Python builder make and everything else reads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stream/trigger/predicate.h"

namespace walle::stream {

// Depths take four bits of an edge, and a partition keeps one live chain node per depth.
inline constexpr int kMaxSteps = 16;        // after counts are written out
inline constexpr int kMaxOptional = 4;      // optional steps: each doubles the variants
inline constexpr size_t kMaxAtoms = 4096;   // of one trigger, after counts and optional steps are written out
inline constexpr size_t kMaxNodes = 65535;  // all tasks together, per scope
inline constexpr int kMaxRate = 64;
// A leap year. Keys of events hold 570 years, so that no sum of a time and a duration overflows.
inline constexpr int64_t kMaxDurationUs = 366 * kDayUs;

struct Atom {  // event@page[predicate]; "*" is any
  std::string event = "*", page = "*";
  Predicate predicate;
  int position = 0;  // offset in the source text
  friend bool operator==(const Atom& a, const Atom& b) {
    return a.event == b.event && a.page == b.page && a.predicate == b.predicate;
  }
};

enum class Follow : uint8_t { first, next, later };  // how a step follows the one before it: -, `>`, `~`

struct Step {
  Follow follow = Follow::first;
  std::vector<Atom>
      guard;  // `!X ~`: none of these between the step before (excluded) and this one (included)
  std::optional<int64_t> gap_us;  // at most this long after the step before
  std::vector<Atom> any_of;
  int count = 1;
  bool optional = false;
  int position = 0;
  friend bool operator==(const Step& a, const Step& b) {
    return a.follow == b.follow && a.guard == b.guard && a.gap_us == b.gap_us && a.any_of == b.any_of &&
           a.count == b.count && a.optional == b.optional;
  }
};

enum class Scope : uint8_t { device, session, page, by };
enum class TimerKind : uint8_t { none, every, daily, idle };

struct StateTerm {
  std::string name;
  bool wanted = true;
  friend bool operator==(const StateTerm&, const StateTerm&) = default;
};

struct TriggerSpec {
  std::vector<Step> steps;  // empty for a timer
  TimerKind timer = TimerKind::none;
  int64_t timer_us = 0;      // period, time of day, or idle time
  std::vector<Atom> absent;  // trailing `!~X for D`
  int64_t absent_us = 0;
  std::optional<int64_t> within_us;
  std::optional<int64_t> gap_us;  // for every edge without its own
  Scope scope = Scope::device;
  std::string by;
  bool every = false;  // after-match: every instead of skip_past
  bool once = false;
  int64_t cooldown_us = 0;
  int rate = 0;  // at most `rate` firings per rate_us
  int64_t rate_us = 0;
  std::vector<std::vector<StateTerm>> when;  // or of ands; empty: always
  friend bool operator==(const TriggerSpec&, const TriggerSpec&) = default;
};

// Errors carry the column and show the place. Never fails on memory: texts above 64 KiB are refused.
Result<TriggerSpec> parse_trigger(std::string_view text);
// The canonical text; parse_trigger(format_trigger(s)) == s.
std::string format_trigger(const TriggerSpec& spec);

}  // namespace walle::stream
