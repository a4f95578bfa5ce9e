// What a session gives back when memory is short, and makes again with its next run: with a folder of plans
// and weights (plan_cache) in milliseconds. Nothing that a run would miss: states, options, the model.
#include <algorithm>

#include "runtime/plan_limits.h"
#include "runtime/session.h"

namespace walle::runtime {

namespace {
int64_t bytes_of(const MemoryReport& held) {
  return held.steps + held.arena + held.free + held.packed + held.folded;
}
}  // namespace

int64_t Session::trim_locked() {
  const int64_t before = bytes_of(memory_locked());
  drop_all_plans(shared_);
  variants_.clear();
  model_->constants().drop_unheld();
  shared_.memory.arenas.shrink([](const backends::Memory&) { return 0; });
  shared_.memory.results.drop_free();
  // Another session of the model may have packed more meanwhile.
  return std::max<int64_t>(0, before - bytes_of(memory_locked()));
}

Result<int64_t> Session::trim() {
  if (within_run()) return called_within_a_run("trim");
  const std::lock_guard lock(mutex_);
  return trim_locked();
}

int64_t Session::trim_if_idle() {
  if (within_run()) return 0;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  return lock ? trim_locked() : 0;
}

}  // namespace walle::runtime
