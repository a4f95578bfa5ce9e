// The kinds of cores that Linux says a machine has, each with its caches: big and little ones of a phone, or
// one kind of all.
//
// Read through an Env, so that tests give it what other machines say of themselves.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/env.h"

namespace walle::base {

struct CoreKind {
  std::string_view name;  // an Arm core's ("cortex-a76"); empty where nobody says
  int count = 0;
  // Its cpu_capacity, 1024 for the fastest kind, or its highest frequency in kHz; 0: not said. To be compared
  // with that of the machine's other kinds alone.
  int64_t speed = 0;
  // Of one core: a level that several cores share counts by its part. 0: not known.
  int64_t l1_bytes = 0;  // data
  int64_t l2_bytes = 0;
  int64_t outer_bytes = 0;  // the whole of the last level that cores share
};

// The fastest first. Empty where the system does not show its processors.
std::vector<CoreKind> core_kinds(Env& env);

}  // namespace walle::base
