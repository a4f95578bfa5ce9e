// MemoryReport: what a session holds between runs, in bytes and by kind.
#pragma once

#include <cstdint>

namespace walle::runtime {

struct MemoryReport {
  int64_t plans = 0;  // a number: of each part of a graph and class of shapes, at most `max_plans` of a graph
  int64_t steps = 0;  // of plans: their steps, with the kernels and the choices that lost
  int64_t arena = 0;  // what plans compute in: one block per memory, as large as the largest plan needs
  int64_t free = 0;   // blocks that the next results are lent from
  int64_t lent = 0;   // results that the last run gave and somebody still holds
  int64_t packed = 0;  // weights as kernels want them, shared by the sessions of the model
  int64_t folded = 0;  // weights that plans transposed, scaled or cut, likewise
};

}  // namespace walle::runtime
