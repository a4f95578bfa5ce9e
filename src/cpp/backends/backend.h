// The backend interface: which nodes it can run, by which algorithms doing how much work, a prepared kernel,
// and the memory that kernel works in.
//
// A Backend is immutable and shared by all threads. A Kernel is immutable after prepare() and may run on any
// thread; everything that changes during a run is in RunArgs. A NodeView's constants are host memory of the
// program: prepare() may read them, a kernel may not keep them.
#pragma once

#include <atomic>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/device_profile.h"
#include "backends/features.h"
#include "backends/memory.h"
#include "ops/program.h"

namespace walle::backends {

// One way to run a node. `algorithm` names the kernel the way traces and benchmarks do.
// What a candidate computes of. Anything but the operands themselves is those rounded to shorter numbers:
// never a matter of speed alone, so that a session has to ask for it (precision="bf16", "fp16"), or the model
// does (int8: accuracy_level 4 of MatMulNBits).
enum class Arithmetic : uint8_t { own, bfloat16, float16, int8 };

struct Candidate {
  std::string algorithm;
  std::vector<std::pair<std::string, int64_t>> parameters;  // for people: explain() shows them
  Features features;                                        // what its time is predicted from
  int64_t workspace_bytes = 0;  // scratch memory during run, planned into the arena
  int choice = 0;               // the backend's own tag, given back to prepare()
  // Bound of its error against float64, as a multiple of the error of the sums an operator is defined by in
  // its own arithmetic. Above 1: another way to the result, which sessions may forbid (accuracy="strict").
  float error = 1;
  Arithmetic arithmetic = Arithmetic::own;
  DType weights = DType::undefined;  // that it keeps constant weights in, where that is not their own
  // The definition, element by element. A search leaves it to nodes for which its backend has nothing else:
  // one price stands for kinds as far apart as Neg and Sqrt, and where it is off, the definition would win.
  bool reference = false;
};

// A node with its operands' types: all a backend may look at. Serves one thread.
class NodeView {
 public:
  NodeView(const ops::Program& program, const ops::ProgramNode& node) : program_(program), node_(node) {}

  const ir::OpDef& op() const { return *node_.op; }
  const ir::Attributes& attrs() const { return node_.attributes; }
  const ops::ProgramNode& node() const { return node_; }
  int input_count() const { return static_cast<int>(node_.inputs.size()); }
  int output_count() const { return static_cast<int>(node_.outputs.size()); }
  // Also asked of numbers below zero, by which kernels name an operand that they lack.
  bool has(int i) const { return i >= 0 && i < input_count() && node_.inputs[i] >= 0; }
  bool has_output(int i) const { return i < output_count() && node_.outputs[i] >= 0; }
  DType dtype(int i) const { return value(i).dtype; }
  const Shape& shape(int i) const { return value(i).shape; }
  const Tensor* constant(int i) const { return value(i).constant ? &*value(i).constant : nullptr; }
  DType out_dtype(int i) const { return out_value(i).dtype; }
  const Shape& out_shape(int i) const { return out_value(i).shape; }
  // Of the op's cost function, or the bytes of all operands; counted once, for all candidates.
  const ir::Cost& cost() const {
    if (!cost_) cost_ = counted();
    return *cost_;
  }

 private:
  const ops::ProgramValue& value(int i) const { return program_.at(node_.inputs[i]); }
  const ops::ProgramValue& out_value(int i) const { return program_.at(node_.outputs[i]); }

  ir::Cost counted() const;

  const ops::Program& program_;
  const ops::ProgramNode& node_;
  mutable std::optional<ir::Cost> cost_;
};

// The operands of one step, all in the memory of the kernel's backend; inputs in its source(). Kernels of the
// host see them as pointers (HostArgs); any other backend asks its own memory what a handle means.
struct RunArgs {
  std::span<const Handle> in;   // empty handles for omitted inputs
  std::span<const Handle> out;  // empty handles for omitted outputs
  Handle workspace;
  int threads = 1;
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual Status run(const RunArgs& args) const = 0;
  // Whether run() looks at input i. Constants that a kernel has packed need not come to its memory as well.
  virtual bool reads(int /*i*/) const { return true; }
};

// Where another form of some constants is, once somebody has made it. A kernel that reads the constants as
// they are looks here first, so that what a later plan packs is not in memory twice. Thread-safe.
class PreparedSlot {
 public:
  const Block* find() const { return found_.load(std::memory_order_acquire); }
  const SharedBlock& block() const { return block_; }  // once found
  void fill(SharedBlock block) {
    block_ = std::move(block);
    found_.store(block_.get(), std::memory_order_release);
  }

 private:
  SharedBlock block_;
  std::atomic<const Block*> found_{nullptr};
};
using SharedSlot = std::shared_ptr<const PreparedSlot>;

// Constants as kernels want them (packed weights, copies in a device's memory), shared by the sessions and
// plans of one model. Thread-safe.
class ConstantCache {
 public:
  virtual ~ConstantCache() = default;
  // The block made from these tensors under `kind` ("gemm_pack_n64_avx512"), made now if need be.
  virtual Result<SharedBlock> get(std::span<const Tensor* const> sources, const std::string& kind,
                                  const std::function<Result<Block>()>& make) = 0;
  // Where get() will put, or has put, that block; nullptr from a cache without slots.
  virtual SharedSlot slot(std::span<const Tensor* const> /*sources*/, const std::string& /*kind*/) {
    return nullptr;
  }
};

struct PrepareContext {
  ConstantCache* constants = nullptr;  // may be null: prepare without sharing
  int threads = 1;

  Result<SharedBlock> shared(std::initializer_list<const Tensor*> sources, const std::string& kind,
                             const std::function<Result<Block>()>& make) const;
  SharedSlot slot(std::initializer_list<const Tensor*> sources, const std::string& kind) const;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  // Where the operands of its kernels lie. Backends may share one: nothing is then copied between them.
  virtual Memory& memory() const = 0;
  // Where its kernels find what they read, if not there too: of a backend whose kernels take in one layout
  // and give out another, so that no copy stands between. Results and workspace lie in memory().
  virtual Memory& source() const { return memory(); }
  // Whether it can run on this machine as the environment configures it; asked when a session is made.
  virtual Status ready() const { return {}; }
  // What it runs on here, for people: an instruction set, a device.
  virtual std::string target() const { return ""; }
  // The kind of device that a table of costs holds for ("AuthenticAMD 25 17"); empty where nobody can tell.
  virtual std::string device() const { return ""; }
  // Measures this device, in less than 100 ms. Nothing where the host's figures are as good.
  virtual std::optional<DeviceProfile> profile() const { return std::nullopt; }
  // Backends of the same device whose memories lay values out otherwise, where that makes kernels faster. No
  // names for users: a session that chooses layouts asks them as well, those of a memory that rounds
  // (Memory::exact) where it may.
  virtual std::vector<const Backend*> layouts() const { return {}; }
  // Also asked for composites, which a backend may claim whole.
  virtual bool supports(const NodeView& node) const = 0;
  // At least one when supports(); features filled in for `threads`.
  virtual std::vector<Candidate> candidates(const NodeView& node, int threads) const = 0;
  virtual Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate& candidate,
                                                  PrepareContext& context) const = 0;
};

}  // namespace walle::backends
