// Numbers, durations and times of day in triggers.
#pragma once

#include "stream/trigger/lexeme_cursor.h"

namespace walle::stream {

// 1 to `most`; all of the lexeme, so that "3x" or "3.5" is no count.
Result<int> parse_whole(LexemeCursor& in, int most, const std::string& what, std::string next);
Result<int64_t> parse_duration(LexemeCursor& in);
// Of one lexeme or a part of it.
Result<int64_t> duration_of(const LexemeCursor& in, const Lexeme& at, std::string_view text);
// Minutes of the day; 24:00 only where it ends something.
Result<int> parse_time_of_day(LexemeCursor& in, bool end);

}  // namespace walle::stream
