// Backends and memories that plan but never run.
#pragma once

#include <algorithm>
#include <vector>

#include "backends/host_memory.h"

namespace walle::search {

class FakeMemory final : public backends::Memory {
 public:
  explicit FakeMemory(std::string_view name) : name_(name) {}
  std::string_view name() const override { return name_; }
  Result<backends::Handle> allocate(int64_t) override { return internal_error("never run", "test"); }
  void free(backends::Handle) override {}
  Status copy_in(backends::Handle, const void*, int64_t) override { return {}; }
  Status copy_out(void*, backends::Handle, int64_t) override { return {}; }
  Status copy_within(backends::Handle, backends::Handle, int64_t) override { return {}; }
  Status flush() override { return {}; }
  void discard(backends::Handle, int64_t) override {}

 private:
  std::string_view name_;
};

// One that others are reached from without the host.
class ReachingMemory final : public backends::Memory {
 public:
  ReachingMemory(std::string_view name, std::vector<const backends::Memory*> others)
      : inner_(name), others_(std::move(others)) {}
  std::string_view name() const override { return inner_.name(); }
  bool reaches(const backends::Memory& other) const override {
    return std::ranges::find(others_, &other) != others_.end();
  }
  Result<backends::Handle> allocate(int64_t bytes) override { return inner_.allocate(bytes); }
  void free(backends::Handle) override {}
  Status copy_in(backends::Handle, const void*, int64_t) override { return {}; }
  Status copy_out(void*, backends::Handle, int64_t) override { return {}; }
  Status copy_within(backends::Handle, backends::Handle, int64_t) override { return {}; }
  Status flush() override { return {}; }
  void discard(backends::Handle, int64_t) override {}

 private:
  FakeMemory inner_;
  std::vector<const backends::Memory*> others_;
};

// What the model prices at so many milliseconds: no table lists these kernels, and then an operation takes a
// nanosecond.
inline backends::Features taking(double ms, int threads = 1) {
  backends::Features f;
  f.threads = threads;
  f[backends::Quantity::flop] = ms * 1e6;
  return f;
}

// Runs one operator, or "*" for any; twice as fast with two threads.
class Fake : public backends::Backend {
 public:
  Fake(std::string_view name, std::string_view op, backends::Memory& memory = backends::host_memory())
      : name_(name), op_(op), memory_(memory) {}
  std::string_view name() const override { return name_; }
  backends::Memory& memory() const override { return memory_; }
  bool supports(const backends::NodeView& node) const override { return node.op().name == op_ || op_ == "*"; }
  std::vector<backends::Candidate> candidates(const backends::NodeView&, int threads) const override {
    return {{"slow", {}, taking(8, threads), 0, 0}, {"fast", {{"tile", 4}}, taking(2, threads), 64, 1}};
  }
  Result<std::unique_ptr<backends::Kernel>> prepare(const backends::NodeView&, const backends::Candidate&,
                                                    backends::PrepareContext&) const override {
    return internal_error("never run", "test");
  }

 private:
  std::string_view name_, op_;
  backends::Memory& memory_;
};

// One more way, faster than all and ten times as far off.
class Rough final : public Fake {
 public:
  using Fake::Fake;
  std::vector<backends::Candidate> candidates(const backends::NodeView& node, int threads) const override {
    std::vector<backends::Candidate> all = Fake::candidates(node, threads);
    all.push_back({"rough", {}, taking(1, threads), 0, 2, 10});
    return all;
  }
};

// One more way, faster than all, in bfloat16.
class Short final : public Fake {
 public:
  using Fake::Fake;
  std::vector<backends::Candidate> candidates(const backends::NodeView& node, int threads) const override {
    std::vector<backends::Candidate> all = Fake::candidates(node, threads);
    backends::Candidate rounded{"short", {}, taking(1, threads), 0, 2};
    rounded.arithmetic = backends::Arithmetic::bfloat16;
    all.push_back(std::move(rounded));
    return all;
  }
};

// Its definition, which the model takes to be faster than all.
class Cheap final : public Fake {
 public:
  using Fake::Fake;
  std::vector<backends::Candidate> candidates(const backends::NodeView& node, int threads) const override {
    backends::Candidate definition{"definition", {}, taking(1, threads), 0, 2};
    definition.reference = true;
    std::vector<backends::Candidate> all = {definition};
    if (node.op().name == "Relu") all.push_back(Fake::candidates(node, threads)[0]);
    return all;
  }
};

}  // namespace walle::search
