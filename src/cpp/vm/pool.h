// Pool: isolates that are ready before they are asked for, and worker threads that may be given up.
//
// Those that wait belong to nobody: limits and context are given when one is taken, so one pool serves all
// tasks. take() hands a warm isolate over in microseconds; once half of them are out, a filler thread makes
// up for it in the background. run() executes one task call on a worker thread: a call that neither ends nor
// can be stopped (it sits in a C loop that looks at no interrupt) is abandoned together with its thread after
// the wall limit and a grace period, and counted.
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
  uint32_t grace_ms = 1000;
};

struct PoolStats {
  size_t ready = 0;
  uint64_t handed_out = 0;
  uint64_t cold = 0;       // take() found none ready and made one itself
  uint64_t abandoned = 0;  // worker threads given up
};

class Pool {
 public:
  static Result<std::unique_ptr<Pool>> create(std::shared_ptr<const Vm> vm, PoolOptions options);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  Result<std::unique_ptr<Isolate>> take(Limits limits = {}, TaskContext context = {});
  // A fresh isolate for this call alone. `bundle` may be nullptr.
  Outcome run(std::shared_ptr<const Bundle> bundle, const std::string& module, const std::string& function,
              std::vector<Value> args, Limits limits = {}, TaskContext context = {},
              Attention* attention = nullptr);
  PoolStats stats() const;
  // Blocks until `size` isolates are ready.
  void wait_until_full();

 private:
  struct State;  // shared with the filler and the workers, which may outlive the pool
  explicit Pool(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace walle::vm
