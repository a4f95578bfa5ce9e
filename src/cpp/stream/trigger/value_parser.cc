#include "stream/trigger/value_parser.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/read_number.h"
#include "stream/trigger/duration.h"
#include "stream/trigger/trigger_spec.h"

namespace walle::stream {

Result<int> parse_whole(LexemeCursor& in, int most, const std::string& what, std::string next) {
  const Lexeme l = in.take();
  const char* const end = l.text.data() + l.text.size();
  int n = 0;
  const auto r = std::from_chars(l.text.data(), end, n);
  if (l.kind == TokenKind::number && r.ec == std::errc() && r.ptr == end && n >= 1 && n <= most) return n;
  return in.wrong_at(l, {what, " from 1 to ", most}, next);
}

Result<int64_t> parse_duration(LexemeCursor& in) {
  const Lexeme l = in.take();
  if (l.kind != TokenKind::number)
    return in.wrong_at(l, "a duration such as 500ms, 10s, 15m, 2h or 7d", "write a number and its unit");
  return duration_of(in, l, l.text);
}

Result<int64_t> duration_of(const LexemeCursor& in, const Lexeme& at, std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto r = read_number(text.data(), end, value);
  if (r.ec != std::errc())
    return in.wrong_at(at, "a duration such as 500ms, 10s, 15m, 2h or 7d", "write a number and its unit");
  const std::string_view name(r.ptr, end);
  const auto* unit = std::find_if(std::begin(kDurationUnits), std::end(kDurationUnits),
                                  [&](const DurationUnit& u) { return u.name == name; });
  if (unit == std::end(kDurationUnits))
    return in.wrong_at(at, "a duration in us, ms, s, m, h or d", "add one of these units to the number");
  // Through a double: 1.5h is allowed. Up to 366 days of microseconds are exact in it.
  const double total = std::round(value * static_cast<double>(unit->us));
  if (!(total >= 1 && total <= static_cast<double>(kMaxDurationUs)))
    return in.wrong_at(at, "a duration from 1us to 366d", "choose one in this range");
  return static_cast<int64_t>(total);
}

Result<int> parse_time_of_day(LexemeCursor& in, bool end_of_span) {
  const Lexeme l = in.take();
  int hour = -1, minute = -1;
  const char* end = l.text.data() + l.text.size();
  // "03:00" is one lexeme: colons belong to numbers.
  auto a = std::from_chars(l.text.data(), end, hour);
  if (a.ec == std::errc() && a.ptr != end && *a.ptr == ':') {
    const auto b = std::from_chars(a.ptr + 1, end, minute);
    if (b.ec != std::errc() || b.ptr != end) minute = -1;
  }
  const bool midnight = end_of_span && hour == 24 && minute == 0;
  if (!midnight && (hour < 0 || hour > 23 || minute < 0 || minute > 59))
    return in.wrong_at(l, "a time of day such as 03:00", "write hours and minutes");
  return hour * 60 + minute;
}

}  // namespace walle::stream
