// Arithmetic in predicates: `price * quantity > 100`, `price < $view.price`.
//
// Integers stay integers (a double cannot tell all of them apart); a quotient is a float. What has no value -
// a missing field, a division by zero, an integer that overflows, a float that is not finite - makes the
// comparison false.
#pragma once

#include "stream/trigger/predicate.h"

namespace walle::stream {

struct Number {
  bool known = false, whole = false;
  int64_t i = 0;
  double d = 0;  // also of a whole number
};

Number number_at(const Predicate& p, size_t at, const Event& event, const Catalog& catalog,
                 const Value* before);
// -1, 0, 1; precondition: both are known.
int compare_numbers(const Number& a, const Number& b);

}  // namespace walle::stream
