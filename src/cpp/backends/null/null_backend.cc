#include "backends/null/null_backend.h"

#include <algorithm>

#include <cstring>

#include "backends/host_memory.h"

namespace walle::backends::null {

namespace {
Result<Tensor> clone(const Tensor& t) {
  WALLE_ASSIGN(Tensor out, Tensor::allocate(t.dtype(), t.shape()));
  if (t.bytes() > 0) std::memcpy(out.mutable_data(), t.data(), t.bytes());
  return out;
}

// One node as a program of its own whose constants are copies: what prepare() may look at. wipe() poisons
// them, so that a kernel which kept a pointer to one computes nonsense.
class Shown {
 public:
  static Result<std::unique_ptr<Shown>> make(const NodeView& view) {
    auto shown = std::make_unique<Shown>();
    ops::ProgramNode node = view.node();
    for (int i = 0; i < view.input_count(); ++i) {
      if (!view.has(i)) continue;
      const Tensor* original = view.constant(i);
      std::optional<Tensor> copy;
      if (original) {
        WALLE_ASSIGN(copy, clone(*original));
        shown->originals_.push_back({*copy, *original});
      }
      node.inputs[i] = shown->add({view.dtype(i), view.shape(i), std::move(copy)});
    }
    for (int i = 0; i < view.output_count(); ++i)
      if (view.has_output(i))
        node.outputs[i] = shown->add({view.out_dtype(i), view.out_shape(i), std::nullopt});
    shown->program_.nodes.push_back(std::move(node));
    return shown;
  }

  NodeView view() const { return NodeView(program_, program_.nodes[0]); }

  // Asked once per packed constant, of which a node has one or two: a walk.
  const Tensor* original(const Tensor& copy) const {
    for (const auto& [shown, given] : originals_)
      if (shown.data() == copy.data()) return &given;
    return nullptr;
  }

  void wipe() {
    for (auto& [shown, given] : originals_)
      poison(static_cast<std::byte*>(shown.mutable_data()), shown.bytes());
  }

 private:
  ops::Ref add(ops::ProgramValue value) {
    program_.values.push_back(std::move(value));
    return static_cast<ops::Ref>(program_.values.size() - 1);
  }

  ops::Program program_;
  std::vector<std::pair<Tensor, Tensor>> originals_;  // the copy shown, the constant itself
};

// The model's cache, asked under the constants themselves: the copies do not live as long as it.
class ShownConstants final : public ConstantCache {
 public:
  ShownConstants(const Shown& shown, ConstantCache& constants) : shown_(shown), constants_(constants) {}
  Result<SharedBlock> get(std::span<const Tensor* const> sources, const std::string& kind,
                          const std::function<Result<Block>()>& make) override {
    const std::vector<const Tensor*> originals = originals_of(sources);
    if (std::ranges::find(originals, nullptr) != originals.end())
      return internal_error("a constant that is none of the node's", "null backend");
    return constants_.get(originals, "null " + kind, make);
  }
  SharedSlot slot(std::span<const Tensor* const> sources, const std::string& kind) override {
    const std::vector<const Tensor*> originals = originals_of(sources);
    if (std::ranges::find(originals, nullptr) != originals.end()) return nullptr;
    return constants_.slot(originals, "null " + kind);
  }

 private:
  std::vector<const Tensor*> originals_of(std::span<const Tensor* const> sources) const {
    std::vector<const Tensor*> out;
    for (const Tensor* t : sources) out.push_back(shown_.original(*t));
    return out;
  }

  const Shown& shown_;
  ConstantCache& constants_;
};

int64_t bytes_of(DType dtype, const Shape& shape) { return shape.elements() * dtype_size(dtype); }

// Runs the host's kernel on the bytes behind the operands' handles.
class NullKernel final : public Kernel {
 public:
  NullKernel(std::unique_ptr<Kernel> kernel, std::unique_ptr<Shown> shown, const NullMemory& memory,
             const NodeView& node, int64_t workspace_bytes)
      : kernel_(std::move(kernel)),
        shown_(std::move(shown)),
        memory_(memory),
        workspace_bytes_(workspace_bytes) {
    for (int i = 0; i < node.input_count(); ++i)
      in_bytes_.push_back(node.has(i) ? bytes_of(node.dtype(i), node.shape(i)) : 0);
    for (int i = 0; i < node.output_count(); ++i)
      out_bytes_.push_back(node.has_output(i) ? bytes_of(node.out_dtype(i), node.out_shape(i)) : 0);
  }

  Status run(const RunArgs& args) const override {
    std::vector<Handle> in;
    std::vector<Handle> out;
    for (size_t i = 0; i < args.in.size(); ++i) {
      WALLE_ASSIGN(std::byte * at, opened(args.in[i], in_bytes_[i]));
      in.push_back(at ? host_memory().of(at) : Handle());
    }
    for (size_t i = 0; i < args.out.size(); ++i) {
      WALLE_ASSIGN(std::byte * at, opened(args.out[i], out_bytes_[i]));
      if (at) poison(at, out_bytes_[i]);  // a kernel that adds to its result, or leaves a part, shows
      out.push_back(at ? host_memory().of(at) : Handle());
    }
    WALLE_ASSIGN(std::byte * workspace, opened(args.workspace, workspace_bytes_));
    if (workspace) poison(workspace, workspace_bytes_);
    return kernel_->run({.in = in,
                         .out = out,
                         .workspace = workspace ? host_memory().of(workspace) : Handle(),
                         .threads = args.threads});
  }

 private:
  Result<std::byte*> opened(Handle h, int64_t bytes) const {
    if (!h) return nullptr;  // left out
    return memory_.open(h, bytes);
  }

  std::unique_ptr<Kernel> kernel_;
  std::unique_ptr<Shown> shown_;  // so that a pointer kept into it still points at poison
  const NullMemory& memory_;
  std::vector<int64_t> in_bytes_;
  std::vector<int64_t> out_bytes_;
  int64_t workspace_bytes_;
};
}  // namespace

std::vector<Candidate> NullBackend::candidates(const NodeView& node, int threads) const {
  std::vector<Candidate> out = host_.candidates(node, threads);
  for (Candidate& c : out)
    c.features[Quantity::launches] +=
        kLaunches;  // their order stays: the same algorithms are chosen as on the host
  return out;
}

Result<std::unique_ptr<Kernel>> NullBackend::prepare(const NodeView& node, const Candidate& candidate,
                                                     PrepareContext& context) const {
  WALLE_ASSIGN(std::unique_ptr<Shown> shown, Shown::make(node));
  std::optional<ShownConstants> constants;
  if (context.constants) constants.emplace(*shown, *context.constants);
  PrepareContext inner{constants ? &*constants : nullptr, context.threads};
  WALLE_ASSIGN(std::unique_ptr<Kernel> kernel, host_.prepare(shown->view(), candidate, inner));
  shown->wipe();
  return std::unique_ptr<Kernel>(
      new NullKernel(std::move(kernel), std::move(shown), memory_, node, candidate.workspace_bytes));
}

const Backend& null_backend(const Backend& host) {
  static const NullBackend instance(host);
  return instance;
}

}  // namespace walle::backends::null
