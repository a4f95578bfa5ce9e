// What all runners of one session share.
#pragma once

#include "backends/backend.h"
#include "runtime/arena.h"
#include "runtime/options.h"
#include "runtime/profiler.h"

namespace walle::runtime {

struct SharedState {
  SessionOptions options;
  std::vector<const backends::Backend*> backends;
  backends::ConstantCache* constants = nullptr;
  Arenas arenas;
  Profiler* profiler = nullptr;
  int depth = 0;  // of nested bodies
};

}  // namespace walle::runtime
