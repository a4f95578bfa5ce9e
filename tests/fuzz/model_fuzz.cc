// Fuzzes what a model file goes through before anything runs: parse, verify, shapes, decompose, merge.
//
// The input is a graph part and the weights behind it, without the file's header: a fuzzer cannot guess
// checksums, and the header is covered by tests/fault. Layout: 4 bytes little-endian length of the graph
// part, the graph part, the weights. Nothing is computed: a model may rightly compute for as long as it
// likes.
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "ir/verify.h"
#include "ir/walle_file.h"
#include "ops/lower.h"
#include "ops/passes/merge_rasters.h"
#include "ops/registry.h"

namespace {

using namespace walle;

// Declared sizes, 2 for what is symbolic or unknown; nothing for what cannot be a shape.
std::optional<Shape> concrete(const ir::Value& value) {
  if (!value.shape || value.shape->size() > static_cast<size_t>(base::kMaxRank)) return std::nullopt;
  std::vector<int64_t> dims;
  for (const ir::Dim& dim : *value.shape) dims.push_back(dim.size >= 0 ? dim.size : 2);
  auto shape = Shape::checked(dims, 1, "fuzz");
  if (!shape.ok()) return std::nullopt;
  return *shape;
}

class Lowerer {
 public:
  explicit Lowerer(const ir::Graph& graph)
      : graph_(graph), refs_(graph.values.size(), ops::kNoRef), lowering_(program_, {}) {}

  Status lower() {
    for (const ir::ValueId id : graph_.inputs) {
      const ir::Value& value = graph_.at(id);
      const auto shape = concrete(value);
      if (!shape || value.kind != ir::ValueKind::tensor || value.dtype == DType::undefined) continue;
      refs_[static_cast<size_t>(id)] = lowering_.add_value(value.dtype, *shape);
      program_.inputs.push_back(refs_[static_cast<size_t>(id)]);
    }
    for (const ir::Node& node : graph_.nodes) {
      WALLE_ASSIGN(const bool known, add(node));
      if (!known) break;  // needs a value of run time, as a session would
    }
    return ops::merge_rasters(program_);
  }

 private:
  ops::Ref ref(ir::ValueId id) {
    if (id == ir::kNone) return ops::kNoRef;
    ops::Ref& r = refs_[static_cast<size_t>(id)];
    if (r == ops::kNoRef && graph_.at(id).constant) r = lowering_.add_constant(*graph_.at(id).constant);
    return r;
  }

  Result<bool> add(const ir::Node& node) {
    const ir::OpDef* def = ops::find_op(node.op);
    if (!def || !def->infer) return false;
    std::vector<ops::Ref> inputs;
    std::vector<ir::InferInput> seen;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      inputs.push_back(ref(node.inputs[i]));
      // Unknown is not the same as omitted, which only a session can tell apart: stop there.
      if (inputs.back() == ops::kNoRef && node.inputs[i] != ir::kNone) return false;
      seen.push_back(lowering_.infer_input(inputs.back()));
    }
    for (size_t i = 0; i < static_cast<size_t>(def->inputs.min); ++i)
      if (i >= inputs.size() || inputs[i] < 0)
        return model_error("a missing input", "one", ir::describe(node), "connect it");
    ir::InferContext context(node.attributes, seen, static_cast<int>(node.outputs.size()));
    if (Status s = def->infer(context); !s.ok()) {
      if (context.missing()) return false;
      return s.take_error();
    }
    WALLE_ASSIGN(const auto results,
                 lowering_.apply_inferred(*def, node.attributes, inputs, context.outputs(), node.name));
    for (size_t i = 0; i < node.outputs.size() && i < results.size(); ++i) {
      if (node.outputs[i] == ir::kNone) continue;
      refs_[static_cast<size_t>(node.outputs[i])] = results[i];
      program_.outputs.push_back(results[i]);
    }
    return true;
  }

  const ir::Graph& graph_;
  ops::Program program_;
  std::vector<ops::Ref> refs_;
  ops::Lowering lowering_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  uint32_t length = 0;
  if (size < sizeof(length)) return 0;
  std::memcpy(&length, data, sizeof(length));
  const size_t rest = size - sizeof(length);
  const size_t graph_bytes = length < rest ? length : rest;
  // An aligned copy with no slack: reads past the end are seen, and FlatBuffers may rely on alignment as in a
  // mapped file.
  const size_t weight_bytes = rest - graph_bytes;
  auto owner = std::make_shared<std::pair<std::unique_ptr<std::byte[]>, std::unique_ptr<std::byte[]>>>(
      std::make_unique<std::byte[]>(graph_bytes), std::make_unique<std::byte[]>(weight_bytes));
  if (graph_bytes > 0) std::memcpy(owner->first.get(), data + sizeof(length), graph_bytes);
  if (weight_bytes > 0) std::memcpy(owner->second.get(), data + sizeof(length) + graph_bytes, weight_bytes);
  const Buffer weights = Buffer::window(owner, owner->second.get(), weight_bytes);
  static_cast<void>(walle::ir::detail::parse_graph({owner->first.get(), graph_bytes}, weights, "fuzz",
                                                   walle::ir::Check::weights)
                        .ok());
  auto model = walle::ir::detail::parse_graph({owner->first.get(), graph_bytes}, weights, "fuzz");
  if (!model.ok()) return 0;
  if (!walle::ir::verify(*model, [](std::string_view name) { return walle::ops::find_op(name); }).ok())
    return 0;
  static_cast<void>(Lowerer(model->graph).lower());
  return 0;
}
