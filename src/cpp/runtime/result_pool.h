// ResultPool: the memory that a session's plans write results and values between segments into, used again
// once nobody else holds it.
//
// One per session and not per plan: 64 plans that each kept their last results held 1.2 GB in an idle session
// (64 image sizes), and a loop whose state grows kept every size it had passed through. Lent is what fits:
// at least the bytes asked for and at most twice as many, so that a small result cannot hold a large block.
// Where results grow, new blocks are a step larger than asked for, and smaller ones go: what nobody holds
// stays below two of the largest result, plus what the last kIdleRuns runs have used.
//
// Not thread-safe: a session runs one request at a time. Results may be let go of by any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/tensor.h"

namespace walle::runtime {

class ResultPool {
 public:
  // Memory that nobody holds, with any content. `hint` is the caller's own: where it was given some last
  // time, which makes a stream of equal requests one comparison.
  Result<Tensor> lend(DType dtype, const Shape& shape, size_t& hint);
  // Whether nobody but the pool and whoever holds this tensor can reach its bytes.
  bool sole(const Tensor& tensor) const;
  // Forgets blocks that a caller has kept over a whole run (they are the caller's from now on) and frees
  // those that no run has needed for a while.
  void end_run();
  void drop_free();  // what nobody holds
  // What it would lend again, and what somebody holds.
  int64_t free_bytes() const;
  int64_t lent_bytes() const;

 private:
  struct Entry {
    Buffer buffer;
    uint64_t run;  // that it was lent in last
  };
  static bool fits(const Entry& entry, size_t bytes);
  size_t best(size_t bytes) const;
  Status add(size_t bytes);
  bool make_room(size_t bytes);

  std::vector<Entry> entries_;
  uint64_t run_ = 0;
};

}  // namespace walle::runtime
