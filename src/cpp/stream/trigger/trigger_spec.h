// TriggerSpec: a trigger as its author wrote it: the tree that the parser and
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
inline constexpr int kMaxVariants =
    64;  // chains of one trigger: alternatives, orders of all() and optional steps
inline constexpr int kMaxTogether = 4;  // events of one all(): their orders are written out, 24 of four
// Of an aggregate: what it counts up to, or how many numbers it keeps for a sum, in every partition.
inline constexpr int kMaxCounted = 4096;
inline constexpr int kMaxKeyFields = 4;
inline constexpr int kMaxScopeKeys = 1 << 20;
// Keys that a limit `per` something remembers: 24 KB. More are asked for with `keep`.
inline constexpr int kDefaultLimitKeys = 1024;
inline constexpr int kMaxLimitKeys = 65'534;
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

// How a step follows the one before it: -, `>`, `~`, `~>` (the newest such event before it).
enum class Follow : uint8_t { first, next, later, newest };

struct Step {
  Follow follow = Follow::first;
  // `!X ~`: none of these between the step before (excluded) and this one (included). In front of the first
  // step: none since the scope began, or for gap_us.
  std::vector<Atom> guard;
  std::optional<int64_t> gap_us;  // at most this long after the step before
  int64_t least_us = 0;           // at least this long after it; 0: no such bound
  std::vector<Atom> any_of;
  std::vector<std::vector<Atom>> all_of;  // `all(a, b)`: each of these, in any order; any_of is empty then
  int count = 1;
  bool optional = false;
  int position = 0;
  friend bool operator==(const Step& a, const Step& b) {
    return a.follow == b.follow && a.guard == b.guard && a.gap_us == b.gap_us && a.any_of == b.any_of &&
           a.least_us == b.least_us && a.all_of == b.all_of && a.count == b.count && a.optional == b.optional;
  }
};

enum class Scope : uint8_t { device, session, page, by };
enum class TimerKind : uint8_t { none, every, daily, idle };

struct StateTerm {
  std::string name;
  bool wanted = true;
  friend bool operator==(const StateTerm&, const StateTerm&) = default;
};

// What belongs together: equal values of fields, within a page instance or session if it says so.
struct EventKey {
  std::vector<std::string> fields;
  bool page = false, session = false;
  bool empty() const { return fields.empty() && !page && !session; }
  friend bool operator==(const EventKey&, const EventKey&) = default;
};

// `once per item keep 1000`: a limit of its own for each key; without a key one for the trigger.
struct LimitKey {
  EventKey key;
  int keep = kDefaultLimitKeys;
  friend bool operator==(const LimitKey&, const LimitKey&) = default;
};

enum class TriggerAggregateKind : uint8_t {
  none,
#define WALLE_TRIGGER_AGGREGATE(kind, word, group) kind,
#include "stream/trigger/trigger_aggregate.inc"
};
// What it is an aggregate of, and so what it is compared with; see trigger_aggregate.inc.
enum class TriggerAggregateClass : uint8_t { none, events, values, numbers };
struct TriggerAggregateFacts {
  std::string_view word;
  TriggerAggregateClass group;
};
inline constexpr TriggerAggregateFacts kTriggerAggregates[] = {
    {"", TriggerAggregateClass::none},
#define WALLE_TRIGGER_AGGREGATE(kind, word, group) {word, TriggerAggregateClass::group},
#include "stream/trigger/trigger_aggregate.inc"
};

// `sum(price of buy) > 100`: asked at each event of the trigger's only step.
struct TriggerAggregate {
  TriggerAggregateKind kind = TriggerAggregateKind::none;
  std::string field;  // of values and numbers
  PredicateOp op = PredicateOp::gt;
  Literal bound;
  int keep = 0;  // numbers that are kept within a window

  bool exists() const { return kind != TriggerAggregateKind::none; }
  std::string word() const { return std::string(kTriggerAggregates[static_cast<size_t>(kind)].word); }
  bool is_of(TriggerAggregateClass group) const {
    return kTriggerAggregates[static_cast<size_t>(kind)].group == group;
  }
  bool of_events() const { return is_of(TriggerAggregateClass::events); }
  bool of_values() const { return is_of(TriggerAggregateClass::values); }
  bool of_numbers() const { return is_of(TriggerAggregateClass::numbers); }
  friend bool operator==(const TriggerAggregate&, const TriggerAggregate&) = default;
};

// `fri 18:00-22:00` in local time. One that ends before it begins goes on past midnight, and its days are
// those on which it begins.
struct DaySpan {
  bool wanted = true;
  uint8_t days = kEveryDay;  // bit 0: Monday
  int from_minute = 0, to_minute = kDayMinutes;
  static constexpr uint8_t kEveryDay = 0x7f;
  static constexpr int kDayMinutes = 24 * 60;
  friend bool operator==(const DaySpan&, const DaySpan&) = default;
};

struct TriggerSpec {
  std::vector<Step> steps;                // empty for a timer
  std::vector<std::vector<Step>> others;  // further patterns, joined by `or`
  // Windows of single patterns, in their order; 0, and behind the end: the one of all, within_us.
  std::vector<int64_t> own_within;
  TriggerAggregate aggregate;  // over the events of the only step
  TimerKind timer = TimerKind::none;
  int64_t timer_us = 0;      // period, time of day, or idle time
  std::vector<Atom> absent;  // trailing `!~X for D`
  int64_t absent_us = 0;
  std::optional<int64_t> within_us;
  std::optional<int64_t> gap_us;  // for every edge without its own
  Scope scope = Scope::device;
  EventKey by;
  int by_keep = 0;     // keys that are remembered at once, at least; 0: as many as the device keeps
  bool every = false;  // after-match: every instead of skip_past
  bool once = false;
  LimitKey once_per;
  int64_t cooldown_us = 0;
  LimitKey cooldown_per;
  int rate = 0;  // at most `rate` firings per rate_us
  int64_t rate_us = 0;
  LimitKey rate_per;
  std::vector<DaySpan> during;               // any of them; empty: always
  std::vector<std::vector<StateTerm>> when;  // or of ands; empty: always
  friend bool operator==(const TriggerSpec&, const TriggerSpec&) = default;
};

// Errors carry the column and show the place. Never fails on memory: texts above 64 KiB are refused.
Result<TriggerSpec> parse_trigger(std::string_view text);
// The canonical text; parse_trigger(format_trigger(s)) == s.
std::string format_trigger(const TriggerSpec& spec);
std::string format_key(const EventKey& key);  // what stands between the parentheses of by(...)

}  // namespace walle::stream
