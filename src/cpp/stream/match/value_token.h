// ValueToken: predicates that ask one field for one value, `view[item == 7]`, found by the event's value: of
// a thousand tasks that ask for different ones an event looks at those that ask for its own.
//
// The value is a part of the token (stream/match/token_lists.h), as a hash: what it finds is evaluated all
// the same, so a collision costs one evaluation and no wrong answer.
#pragma once

#include <cstdint>

#include "stream/trigger/predicate.h"

namespace walle::stream {

struct ValueToken {
  uint32_t hash = 0;  // of field and value; 0: the predicate asks for no single value
  uint16_t field = 0;
};

// What `predicate` cannot hold without: its equality with a literal, alone or as a part of an `and`.
ValueToken value_token(const Predicate& predicate);
// Equal for a value and a literal that compare equal.
uint32_t value_hash(uint16_t field, const Value& value);

}  // namespace walle::stream
