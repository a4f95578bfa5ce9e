#include "runtime/fold.h"

#include <algorithm>

#include "ops/registry.h"
#include "ops/stored_halves.h"
#include "runtime/backend_list.h"
#include "runtime/executable.h"
#include "runtime/merge.h"
#include "search/make_plan.h"

namespace walle::runtime {

Result<std::vector<Tensor>> fold_program(const ops::Program& given) {
  // It runs once: merging and fusing would cost more than one run gains.
  ops::Program program = given;
  const std::vector<const backends::Backend*> backends = {&host_backend()};
  ShapeQuestions none;
  WALLE_TRY(merge(program, backends, {.debug = {.merge = false, .fuse = false}}, {}, none));
  WALLE_ASSIGN(search::Plan plan, search::make_plan(program, backends, {}));
  WALLE_ASSIGN(const auto exe, Executable::bind(std::move(program), std::move(plan), 1, nullptr));
  SessionMemory memory;
  return exe->run({}, memory, nullptr);
}

namespace {
// With fold=False only what shape rules may read is folded: shapes, axes, pads and repeats, of which the
// largest that ONNX knows has two numbers per axis. 128 int64 leave room for the vectors that exporters cut
// them from; no weight worth leaving alone is so small.
constexpr int64_t kShapeValueBytes = 1024;

// Expanding a small constant into a large one would trade file size and memory for nothing. 64 MiB is more
// than any weight that exporters leave to be computed (transposed or dequantised embeddings), and little
// beside a model that has such weights.
constexpr int64_t kFoldLimitBytes = int64_t{64} << 20;

// Codes stay codes: a quarter of the bytes, and what quantised layers are made of. Plans fold what is left.
bool stays_codes(const ir::Node& node) { return node.op == "DequantizeLinear"; }

using Values = std::vector<bool>;  // by ir::ValueId

// Constants there, as far as those are that somebody outside of plans reads: results, and what the executor's
// nodes hand to their bodies, which pack weights that are constants alone.
Values read_outside_plans(const ir::Graph& graph) {
  Values read(graph.values.size(), false);
  for (const ir::ValueId id : graph.outputs) read[id] = true;
  for (const ir::Node& node : graph.nodes) {
    const ir::OpDef* def = ops::find_op(node.op);
    if (def && def->op_class != ir::OpClass::control) continue;
    for (const ir::ValueId id : node.inputs)
      if (id != ir::kNone) read[id] = true;
  }
  return read;
}

// Weights stored in 16 bits stay so, half of the bytes, and plans read them in float32 (ops/stored_halves.h).
bool stays_half(const ir::Graph& graph, const ir::Node& node, const Values& outside) {
  if (node.op != "Cast" || node.inputs.size() != 1 || node.inputs[0] == ir::kNone || node.outputs.size() != 1)
    return false;
  const auto& from = graph.at(node.inputs[0]).constant;
  return from && tensor::is_half_float(from->dtype()) && from->elements() >= ops::kLeastStoredHalves &&
         node.attributes.get_int("to", 0) == static_cast<int64_t>(DType::float32) &&
         !outside[node.outputs[0]];
}

bool try_fold(ir::Graph& graph, const ir::Node& node, const Values& outside) {
  if (stays_half(graph, node, outside)) return false;
  const ir::OpDef* def = ops::find_op(node.op);
  // Control operators are left to the executor, random ones must draw anew in every run.
  if (!def || def->op_class == ir::OpClass::control || !def->deterministic || stays_codes(node)) return false;
  const bool constant = std::ranges::all_of(
      node.inputs, [&](ir::ValueId id) { return id == ir::kNone || graph.at(id).constant.has_value(); });
  if (!constant) return false;
  ops::Program program;
  ops::Lowering lowering(program, {nullptr, fold_program, kFoldLimitBytes});
  std::vector<ops::Ref> inputs;
  for (ir::ValueId id : node.inputs)
    inputs.push_back(id == ir::kNone ? ops::kNoRef : lowering.add_constant(*graph.at(id).constant));
  auto refs = lowering.apply(*def, node.attributes, inputs, static_cast<int>(node.outputs.size()), node.name);
  if (!refs.ok()) return false;  // an error belongs to the run, which may never come to this node
  // All results or none: the node goes only when nobody needs it any more.
  for (size_t i = 0; i < node.outputs.size(); ++i)
    if (node.outputs[i] != ir::kNone && ((*refs)[i] < 0 || !program.at((*refs)[i]).constant)) return false;
  for (size_t i = 0; i < node.outputs.size(); ++i)
    if (node.outputs[i] != ir::kNone) graph.at(node.outputs[i]).constant = program.at((*refs)[i]).constant;
  for (ir::ValueId id : node.inputs)
    if (id != ir::kNone) {
      const Tensor& t = *graph.at(id).constant;
      t.buffer().drop(t.byte_offset(), t.bytes());
    }
  return true;
}

// The bytes of constants that only folded nodes read.
void forget_unread(ir::Graph& graph) {
  std::vector<bool> read(graph.values.size(), false);
  for (const ir::Node& node : graph.nodes)
    for (ir::ValueId id : node.inputs)
      if (id != ir::kNone) read[id] = true;
  for (ir::ValueId id : graph.outputs) read[id] = true;
  for (size_t i = 0; i < read.size(); ++i)
    if (!read[i]) graph.values[i].constant.reset();
}

void fold_bodies(ir::Node& node) {
  ir::Attributes folded = node.attributes;
  for (const auto& [name, value] : node.attributes.items()) {
    const auto* body = std::get_if<std::shared_ptr<const ir::Graph>>(&value);
    if (!body || !*body) continue;
    auto copy = std::make_shared<ir::Graph>(**body);  // graphs in attributes are shared and const
    fold_constants(*copy);
    folded.set(name, std::shared_ptr<const ir::Graph>(std::move(copy)));
  }
  node.attributes = std::move(folded);
}
}  // namespace

// Values that decide shapes are always computed while planning; without the option, nothing larger is.
int64_t fold_limit(const SessionOptions& options) {
  return options.debug.fold ? ops::LowerOptions{}.fold_limit_bytes : kShapeValueBytes;
}

void fold_constants(ir::Graph& graph) {
  const Values outside = read_outside_plans(graph);
  std::vector<ir::Node> kept;
  for (ir::Node& node : graph.nodes) {
    if (try_fold(graph, node, outside)) continue;
    fold_bodies(node);
    kept.push_back(std::move(node));
  }
  graph.nodes = std::move(kept);
  forget_unread(graph);
}

}  // namespace walle::runtime
