#include "runtime/check_shapes.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>

#include "base/limits.h"
#include "ops/lower.h"
#include "ops/registry.h"
#include "runtime/declared.h"
#include "tensor/dim_trace.h"

namespace walle::runtime {

namespace {

// Open sizes stand as symbols of these values: different, so that none equals another by chance, and small,
// so that no product of them meets a limit.
constexpr std::array<int64_t, 6> kOpenSizes = {7, 11, 13, 17, 19, 23};

// One walk over the nodes with one choice of open sizes. Under a trace they are symbols, and what a rule says
// after an answer that hangs on them counts for nothing.
class ShapeWalk {
 public:
  ShapeWalk(const ir::Graph& graph, bool ones) : graph_(graph), ones_(ones), known_(graph.values.size()) {}

  // By the place of the node; results of the graph are told behind the last one.
  std::map<int, Error> refused() {
    for (size_t id = 0; id < graph_.values.size(); ++id) begin(static_cast<ir::ValueId>(id));
    for (int n = 0; n < std::ssize(graph_.nodes); ++n)
      if (Status s = step(graph_.nodes[n]); !s.ok())
        refused_.emplace(n, s.take_error().within(ir::describe(graph_.nodes[n])));
    for (const ir::ValueId id : graph_.outputs)
      if (known_[id].present)
        if (Status s = check_dtype(graph_.at(id), known_[id].dtype); !s.ok())
          refused_.emplace(static_cast<int>(graph_.nodes.size()), s.take_error());
    return std::move(refused_);
  }

 private:
  void begin(ir::ValueId id) {
    const ir::Value& value = graph_.at(id);
    if (value.kind != ir::ValueKind::tensor) return;
    const bool open = std::ranges::find(graph_.inputs, id) != graph_.inputs.end() ||
                      std::ranges::find(graph_.overridable, id) != graph_.overridable.end() ||
                      std::ranges::find(graph_.states, id, &ir::State::value) != graph_.states.end();
    if (value.constant && !open) {
      known_[id] = {.present = true,
                    .dtype = value.constant->dtype(),
                    .shape = value.constant->shape(),
                    .constant = &*value.constant};
    } else if (open && value.dtype != DType::undefined && value.shape &&
               std::ssize(*value.shape) <= base::kMaxRank) {
      known_[id] = {.present = true, .dtype = value.dtype, .shape = {}};
      for (const ir::Dim& dim : *value.shape) known_[id].shape.push_back(size(dim));
      // Rules compute with sizes; a real tensor's products do not overflow.
      known_[id].present = known_[id].shape.check(dtype_size(value.dtype), value.name).ok();
    }
  }

  Dim size(const ir::Dim& dim) {
    if (dim.size >= 0) return dim.size;
    if (ones_) return 1;
    if (const auto named = symbols_.find(dim.symbol); !dim.symbol.empty() && named != symbols_.end())
      return named->second;
    const Dim made = DimTrace::current()->symbol(kOpenSizes[made_++ % kOpenSizes.size()]);
    if (!dim.symbol.empty()) symbols_.emplace(dim.symbol, made);
    return made;
  }

  static int64_t answers() { return DimTrace::current() ? DimTrace::current()->answers() : 0; }

  Status step(const ir::Node& node) {
    const ir::OpDef* op = ops::find_op(node.op);
    if (!op || !op->infer) return {};
    std::vector<ops::Ref> given;
    std::vector<ir::InferInput> inputs;
    for (const ir::ValueId id : node.inputs) {
      if (id != ir::kNone && !known_[id].present) return {};
      given.push_back(id == ir::kNone ? ops::kNoRef : 0);
      inputs.push_back(id == ir::kNone ? ir::InferInput() : known_[id]);
    }
    WALLE_TRY(ops::check_inputs(*op, given));
    const int64_t before = answers();
    ir::InferContext context(node.attributes, inputs, static_cast<int>(node.outputs.size()));
    Status status = op->infer(context);
    if (context.missing() || answers() != before) return {};
    if (!status.ok()) return status.error().group() == base::ErrorGroup::model ? std::move(status) : Status();
    keep(node, context.outputs());
    return {};
  }

  void keep(const ir::Node& node, std::span<const ir::InferOutput> outputs) {
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == ir::kNone || outputs[i].dtype == DType::undefined) continue;
      if (!outputs[i].shape.check(dtype_size(outputs[i].dtype), node.name).ok()) continue;
      const ir::InferOutput& out = kept_.emplace_back(outputs[i]);
      known_[node.outputs[i]] = {.present = true,
                                 .dtype = out.dtype,
                                 .shape = out.shape,
                                 .constant = out.value ? &*out.value : nullptr,
                                 .sizes = out.sizes.empty() ? nullptr : &out.sizes};
    }
  }

  const ir::Graph& graph_;
  const bool ones_;
  std::vector<ir::InferInput> known_;  // per value; not present: unknown
  std::deque<ir::InferOutput> kept_;   // values that known_ points at
  std::map<std::string, Dim> symbols_;
  size_t made_ = 0;
  std::map<int, Error> refused_;
};

}  // namespace

Status check_shapes(const ir::Graph& graph) {
  DimTrace trace;
  std::map<int, Error> refused = [&] {
    const DimTrace::Scope scope(&trace);
    return ShapeWalk(graph, false).refused();
  }();
  if (refused.empty() || !trace.complete()) return {};
  // Symbols stand for 2 and more: a size of 1 may broadcast, or be squeezed.
  const std::map<int, Error> ones = ShapeWalk(graph, true).refused();
  for (auto& [place, error] : refused)
    if (ones.contains(place)) return std::move(error);
  return {};
}

}  // namespace walle::runtime
