#include "stream/rolling/rolling_spec.h"

#include <algorithm>

namespace walle::stream {

namespace {

Error wrong(const RollingSpec& spec, Text given, Text expected) {
  return argument_error(given, expected, {"feature '", spec.name, "'"}, "correct [features] of task.toml");
}

Status check_window(const RollingSpec& spec) {
  if ((spec.over_us == 0) == (spec.over_events == 0))
    return wrong(spec, "a window of both time and number, or of neither", "one of both");
  if (spec.over_us < 0 || spec.over_us > kMaxDurationUs)
    return wrong(spec, {"a window of ", spec.over_us, " us"}, "1us to 366d");
  if (spec.over_events > kMaxRollingEvents)
    return wrong(spec, {"a window of ", spec.over_events, " events"}, {"1 to ", kMaxRollingEvents});
  if (spec.keys < 1 || spec.keys > kMaxRollingKeys)
    return wrong(spec, {"keys = ", spec.keys}, {"1 to ", kMaxRollingKeys});
  return {};
}

}  // namespace

Result<Atom> rolling_event(std::string_view text) {
  WALLE_ASSIGN(const TriggerSpec spec, parse_trigger(text));
  // Whatever else a trigger may say would be left unheard.
  TriggerSpec plain;
  if (spec.steps.size() == 1 && spec.steps[0].any_of.size() == 1) {
    plain.steps.emplace_back();
    plain.steps[0].any_of = spec.steps[0].any_of;
    plain.steps[0].position = spec.steps[0].position;
  }
  const bool one = !plain.steps.empty() && spec == plain && spec.steps[0].any_of[0].event != "*";
  if (one && !spec.steps[0].any_of[0].predicate.refers()) return spec.steps[0].any_of[0];
  return argument_error({"'", text, "'"}, "one event, with its page and predicate if any",
                        "a rolling feature", "write buy, or buy[price > 10]");
}

bool RollingSpec::declares_as(const RollingSpec& o) const {
  return event == o.event && by == o.by && kind == o.kind && value == o.value && over_us == o.over_us &&
         over_events == o.over_events && keys == o.keys;
}

Status check_rolling(const RollingSpec& spec) {
  WALLE_TRY(rolling_event(spec.event).status());
  if (spec.by.empty() || spec.by.size() > kMaxKeyFields)
    return wrong(spec, {spec.by.size(), " fields in by"}, {"1 to ", kMaxKeyFields});
  for (auto field = spec.by.begin(); field != spec.by.end(); ++field)
    if (std::find(spec.by.begin(), field, *field) != field)
      return wrong(spec, "a field twice in by", "each field once");
  if (spec.kind > kLastRollingKind)
    return wrong(spec, "an unknown aggregate", "count, sum, mean, min or max");
  if ((spec.kind == RollingKind::count) != spec.value.empty())
    return wrong(spec, spec.value.empty() ? "no value" : "a value of count",
                 "a value of sum, mean, min and max, and none of count");
  return check_window(spec);
}

}  // namespace walle::stream
