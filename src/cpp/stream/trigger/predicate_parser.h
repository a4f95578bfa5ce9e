// Predicates: what stands between the brackets of an event: `price > 10 and (brand in ("a", "b") or not
// sale)`.
#pragma once

#include "stream/trigger/lexeme_cursor.h"
#include "stream/trigger/predicate.h"

namespace walle::stream {

// Up to the lexeme that cannot belong to it.
Status parse_predicate(LexemeCursor& in, Predicate& out);
// With its sign; an integer where it is one.
Status parse_number(LexemeCursor& in, Literal& out);

}  // namespace walle::stream
