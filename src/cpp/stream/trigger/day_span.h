// `during mon-fri 18:00-22:00 or not 22:00-07:00`: spans of the local day and week.
#pragma once

#include "stream/trigger/lexeme_cursor.h"
#include "stream/trigger/trigger_spec.h"

namespace walle::stream {

Status parse_during(LexemeCursor& in, std::vector<DaySpan>& out);
std::string format_during(const std::vector<DaySpan>& spans);
// Whether it lies in one of them; `local_us` is the time of the local clock since 1970.
bool is_during(const std::vector<DaySpan>& spans, int64_t local_us);

}  // namespace walle::stream
