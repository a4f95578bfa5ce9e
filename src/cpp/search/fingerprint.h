// What decides a plan, in one number: a program's operators, attributes, shapes and dtypes, but no values and
// no names. Two programs of one fingerprint are planned alike.
#pragma once

#include "ops/program.h"

namespace walle::search {

uint64_t fingerprint(const ops::Program& program);

}  // namespace walle::search
