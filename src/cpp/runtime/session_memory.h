// SessionMemory: what the plans of one session compute in, whichever of them runs.
#pragma once

#include "runtime/arena.h"
#include "runtime/result_pool.h"

namespace walle::runtime {

struct SessionMemory {
  Arenas arenas;
  ResultPool results;
};

}  // namespace walle::runtime
