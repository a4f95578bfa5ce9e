// Clauses: what stands behind a pattern: windows, scope, limits, states and times.
#pragma once

#include "stream/trigger/lexeme_cursor.h"
#include "stream/trigger/trigger_spec.h"

namespace walle::stream {

// All clauses up to the end of the text.
Status parse_clauses(LexemeCursor& in, TriggerSpec& spec);

}  // namespace walle::stream
