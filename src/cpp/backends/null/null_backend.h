// The null backend: a testing backend. It runs the host backend's kernels, but only on operands in a memory
// of its own that poisons what was not copied into it. What passes on it, and split at random between it and
// the host, reads no other backend's memory and will work on a device.
//
// It hands a kernel no more than a device would have: operands that are copies, results and workspace full of
// poison, and, while preparing, constants whose bytes are poisoned as soon as the kernel is made.
#pragma once

#include "backends/backend.h"
#include "backends/null/null_memory.h"

namespace walle::backends::null {

class NullBackend final : public Backend {
 public:
  // `host` outlives it and computes in host memory.
  explicit NullBackend(const Backend& host) : host_(host) {}

  std::string_view name() const override { return "null"; }
  Memory& memory() const override { return memory_; }
  Status ready() const override { return host_.ready(); }
  std::string target() const override { return host_.target() + ", in memory of its own, for tests"; }
  bool supports(const NodeView& node) const override { return host_.supports(node); }
  // The host's, each with kLaunches more.
  std::vector<Candidate> candidates(const NodeView& node, int threads) const override;
  Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate& candidate,
                                          PrepareContext& context) const override;

  // Per step, as if every kernel waited for a queue: the search never prefers it where the host is on the
  // list too.
  static constexpr double kLaunches = 100;

 private:
  const Backend& host_;
  mutable NullMemory memory_;  // of the process, like the backend; its functions are thread-safe
};

// One per process, over the host backend of the first call.
const Backend& null_backend(const Backend& host);

}  // namespace walle::backends::null
