#include "stream/trigger/day_span.h"

#include <algorithm>
#include <array>

#include "stream/trigger/value_parser.h"

namespace walle::stream {

namespace {
constexpr std::array<std::string_view, 7> kDays = {"mon", "tue", "wed", "thu", "fri", "sat", "sun"};
constexpr size_t kMaxSpans = 32;  // more than any week's opening hours
constexpr int kEpochDay = 3;      // 1970-01-01 was a Thursday

int day_of(std::string_view name) {
  const auto* const at = std::find(kDays.begin(), kDays.end(), name);
  return at == kDays.end() ? -1 : static_cast<int>(at - kDays.begin());
}

// "sat", or "mon-fri", which is one word; "sat-mon" goes over the week's end. 0: neither.
uint8_t days_of(std::string_view word) {
  const size_t hyphen = word.find('-');
  const int from = day_of(word.substr(0, hyphen));
  const int to = hyphen == std::string_view::npos ? from : day_of(word.substr(hyphen + 1));
  if (from < 0 || to < 0) return 0;
  uint8_t days = 0;
  for (int day = from;; day = (day + 1) % 7) {
    days |= static_cast<uint8_t>(1u << day);
    if (day == to) return days;
  }
}

Status parse_span(LexemeCursor& in, DaySpan& span) {
  span.wanted = !in.accept_word("not");
  const bool by_day = in.peek().kind == TokenKind::word && days_of(in.peek().text) != 0;
  if (by_day) {
    span.days = 0;
    do {
      const uint8_t days = in.peek().kind == TokenKind::word ? days_of(in.peek().text) : uint8_t{0};
      if (days == 0)
        return in.wrong("a day: mon, tue, wed, thu, fri, sat or sun", "write sat,sun or mon-fri");
      in.take();
      span.days |= days;
    } while (in.accept(","));
  }
  if (in.peek().kind != TokenKind::number) {
    if (by_day) return {};
    return in.wrong("days or a span of the day", "write during mon-fri 18:00-22:00");
  }
  WALLE_ASSIGN(span.from_minute, parse_time_of_day(in, false));
  WALLE_TRY(in.expect("-", "write 18:00-22:00"));
  const Lexeme end = in.peek();
  WALLE_ASSIGN(span.to_minute, parse_time_of_day(in, true));
  if (span.from_minute == span.to_minute)
    return in.wrong_at(end, "an end that is not the beginning", "leave the times out for the whole day");
  return {};
}

std::string time_text(int minute) {
  const auto two = [](int v) { return (v < 10 ? "0" : "") + std::to_string(v); };
  return two(minute / 60) + ":" + two(minute % 60);
}

// Runs of three days and more as mon-fri, others one by one.
std::string days_text(uint8_t days) {
  std::string out;
  for (int day = 0; day < 7; ++day) {
    if (!(days >> day & 1)) continue;
    int last = day;
    while (last < 6 && (days >> (last + 1) & 1)) ++last;
    out += (out.empty() ? "" : ",") + std::string(kDays[day]);
    if (last - day < 2) continue;
    out += "-" + std::string(kDays[last]);
    day = last;
  }
  return out;
}

bool holds(const DaySpan& s, int day, int minute) {
  const auto on = [&](int d) { return (s.days >> ((d + 7) % 7) & 1) != 0; };
  if (s.from_minute < s.to_minute) return on(day) && minute >= s.from_minute && minute < s.to_minute;
  return (on(day) && minute >= s.from_minute) || (on(day - 1) && minute < s.to_minute);
}
}  // namespace

Status parse_during(LexemeCursor& in, std::vector<DaySpan>& out) {
  do {
    DaySpan span;
    WALLE_TRY(parse_span(in, span));
    out.push_back(span);
    if (out.size() > kMaxSpans) return in.wrong({"at most ", kMaxSpans, " spans"}, "join spans that touch");
  } while (in.accept_word("or"));
  return {};
}

std::string format_during(const std::vector<DaySpan>& spans) {
  std::string out;
  for (const DaySpan& s : spans) {
    out += (out.empty() ? "" : " or ") + std::string(s.wanted ? "" : "not ");
    const bool all_day = s.from_minute == 0 && s.to_minute == DaySpan::kDayMinutes;
    const bool says_days = s.days != DaySpan::kEveryDay || all_day;
    if (says_days) out += days_text(s.days);
    if (!all_day) out += (says_days ? " " : "") + time_text(s.from_minute) + "-" + time_text(s.to_minute);
  }
  return out;
}

bool is_during(const std::vector<DaySpan>& spans, int64_t local_us) {
  // Rounds down for times before 1970 too.
  const int64_t days = local_us / kDayUs - (local_us % kDayUs < 0);
  const int day = static_cast<int>(((days + kEpochDay) % 7 + 7) % 7);
  const int minute = static_cast<int>((local_us - days * kDayUs) / kMinuteUs);
  return std::any_of(spans.begin(), spans.end(),
                     [&](const DaySpan& s) { return holds(s, day, minute) == s.wanted; });
}

}  // namespace walle::stream
