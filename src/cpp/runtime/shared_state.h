// What all runners of one session share.
#pragma once

#include "backends/backend.h"
#include "runtime/kept_constants.h"
#include "runtime/model_constants.h"
#include "runtime/options.h"
#include "runtime/profiler.h"
#include "runtime/run_control.h"
#include "runtime/session_memory.h"
#include "search/cost_model.h"
#include "search/plan_cache.h"

namespace walle::runtime {

class KeptPlans;

struct SharedState {
  ModelConstants* made = nullptr;  // of the model's constants, by all plans
  SessionOptions options;
  std::vector<const backends::Backend*> backends;
  backends::ConstantCache* constants = nullptr;
  SessionMemory memory;
  Profiler* profiler = nullptr;
  RunControl* control = nullptr;                   // of the run under way; none when nobody can end it
  int depth = 0;                                   // of nested bodies
  std::vector<KeptPlans*> plans;                   // of all graphs; each enters itself
  uint64_t clock = 0;                              // one further for each plan that is asked for
  std::shared_ptr<const search::CostModel> costs;  // made for the first plan
  std::unique_ptr<const search::PlanCache> cache;  // none where nothing is kept
  std::unique_ptr<KeptConstants> weights;          // likewise; `constants` are these then
};

}  // namespace walle::runtime
