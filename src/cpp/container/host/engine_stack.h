// Engine stack: kernels keep tiles on the stack; a task's thread may have less than they need: 256 KB
// suffice for an isolate. A thread that is made for them has twice as much, so that its own frames do not
// count.
#pragma once

#include <optional>

#include "vm/thread.h"

namespace walle::container {

inline constexpr size_t kEngineStack = size_t{1} << 20;

// What `run` gives, called where the engine has room.
template <class Run>
auto with_stack(Run run) {
  if (vm::stack_left() >= kEngineStack) return run();
  std::optional<decltype(run())> result;
  vm::run_on_thread(2 * kEngineStack, [&] { result.emplace(run()); });
  return std::move(*result);
}

}  // namespace walle::container
