// Pool: isolates that are ready before they are asked for.
//
// Those that wait belong to nobody: limits and context are given when one is taken, so one pool serves all
// tasks. take() hands a warm isolate over in microseconds; once half of them are out, a filler thread makes
// up for it in the background.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>

#include "vm/isolate.h"

namespace walle::vm {

// What most tasks import.
const std::vector<std::string>& std_imports();

// 0.36 MB each: beyond this a pool is a mistake in its size.
inline constexpr size_t kMaxReady = 1024;

struct PoolOptions {
  size_t size = 4;                   // at most kMaxReady
  std::vector<std::string> imports;  // modules of the library that a ready isolate has imported already
};

struct PoolStats {
  size_t ready = 0;
  uint64_t handed_out = 0;
  uint64_t cold = 0;  // take() found none ready and made one itself
};

class Pool {
 public:
  static Result<std::unique_ptr<Pool>> create(std::shared_ptr<const Vm> vm, PoolOptions options);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  Result<std::unique_ptr<Isolate>> take(Limits limits = {}, TaskContext context = {});
  PoolStats stats() const;
  // Blocks until `size` isolates are ready.
  void wait_until_full();

 private:
  struct State;  // shared with the filler
  explicit Pool(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace walle::vm
