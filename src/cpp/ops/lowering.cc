#include <algorithm>

#include "base/limits.h"
#include "ops/known_sizes.h"
#include "ops/lower.h"
#include "ops/registry.h"
#include "ops/stored_halves.h"
#include "ops/symbolic.h"
#include "raster/canonical.h"
#include "tensor/dim_trace.h"
#include "tensor/dim_values.h"

namespace walle::ops {

namespace {
// Many times what any operator needs, and few enough frames that decompositions in a circle end as an error.
constexpr int kMaxDecompositionDepth = 32;

std::string describe(const ir::OpDef& op, const Origin& origin) {
  return "node '" + origin.text() + "' (" + std::string(op.name) + ")";
}
Status check_shape(const ir::OpDef& op, const ir::InferOutput& o, const Origin& origin) {
  const int64_t size = std::max<int64_t>(dtype_size(o.dtype), 1);
  // Texts are made only when something is wrong.
  if (o.shape.check(size, {}).ok()) return {};
  return o.shape.check(size, describe(op, origin));
}

// Results that the shape rule knew.
bool all_known(std::span<const ir::InferOutput> outputs) {
  return !outputs.empty() && std::ranges::all_of(outputs, [](const ir::InferOutput& o) {
    return o.value.has_value() || !o.sizes.empty();
  });
}

// Results of no elements: nothing to decompose, and the other axes may be of any size.
bool is_nothing(std::span<const ir::InferOutput> outputs) {
  return !outputs.empty() && std::ranges::all_of(outputs, [](const ir::InferOutput& o) {
    return o.dtype != DType::undefined && o.shape.dim_elements() == 0;
  });
}
}  // namespace

Status check_inputs(const ir::OpDef& op, const std::vector<Ref>& inputs) {
  for (int i = 0; i < op.inputs.min; ++i)
    if (i >= std::ssize(inputs) || inputs[i] < 0)
      return model_error({"input ", i, " is missing"}, {op.inputs.min, " inputs"}, "", "connect the input");
  return {};
}

Ref Lowering::add_value(DType dtype, const Shape& shape) {
  return program_.add({dtype, shape, std::nullopt});
}

Ref Lowering::add_constant(Tensor value) {
  // Copied first: the value is moved from in the same call, and arguments are evaluated in any order.
  const Shape shape = value.shape();
  return program_.add({value.dtype(), shape, std::move(value)});
}

Result<Ref> Lowering::add_sizes(DType dtype, const Shape& shape, std::vector<Dim> sizes) {
  if (std::ranges::any_of(sizes, &Dim::symbolic))
    return program_.add({.dtype = dtype, .shape = shape, .sizes = std::move(sizes)});
  WALLE_ASSIGN(Tensor value, tensor::pinned_tensor(dtype, shape, sizes));
  return add_constant(std::move(value));
}

Status Lowering::pin(Ref r) {
  if (r < 0 || program_.at(r).sizes.empty()) return {};
  ProgramValue& value = program_.at(r);
  WALLE_ASSIGN(value.constant, tensor::pinned_tensor(value.dtype, value.shape, value.sizes));
  value.sizes.clear();
  return {};
}

Status Lowering::pin_all(const std::vector<Ref>& refs) {
  for (const Ref r : refs) WALLE_TRY(pin(r));
  return {};
}

bool Lowering::some_sizes(const std::vector<Ref>& refs) const {
  return std::ranges::any_of(refs, [&](Ref r) { return r >= 0 && !program_.at(r).sizes.empty(); });
}

Status Lowering::count_table(int64_t elements, int64_t work) {
  // By division: elements times work may overflow.
  if (elements > (base::kMaxPlanTable - table_work_) / work)
    return resource_error({"a table of ", elements, " elements, ", work, " steps each, after ", table_work_,
                           " steps for other tables"},
                          {"at most ", base::kMaxPlanTable, " steps while planning"}, "the model",
                          "check the shapes, or feed the table as an input");
  table_work_ += elements * work;
  return {};
}

ir::InferInput Lowering::infer_input(Ref r) const {
  if (r < 0) return {};
  const ProgramValue& v = program_.at(r);
  return {.present = true,
          .dtype = v.dtype,
          .shape = v.shape,
          .constant = v.constant ? &*v.constant : nullptr,
          .sizes = v.sizes.empty() ? nullptr : &v.sizes};
}

std::vector<ir::InferInput> Lowering::infer_inputs(const std::vector<Ref>& refs) const {
  std::vector<ir::InferInput> seen;
  seen.reserve(refs.size());
  for (Ref r : refs) seen.push_back(infer_input(r));
  return seen;
}

Result<std::vector<Ref>> Lowering::apply(const ir::OpDef& op, const ir::Attributes& attributes,
                                         const std::vector<Ref>& inputs, int outputs, const Origin& origin) {
  const std::vector<ir::InferInput> seen = infer_inputs(inputs);
  ir::InferContext context(attributes, seen, outputs);
  // Control operators have no shape rule: only the executor knows their results.
  if (!op.infer) return internal_error({op.name, " cannot be part of a decomposition"}, describe(op, origin));
  // The node's name goes in front of what the rule says, since rules know shapes only.
  if (Status s = op.infer(context); !s.ok()) return s.error().within(describe(op, origin));
  return apply_inferred(op, attributes, inputs, context.outputs(), origin);
}

Result<std::vector<Ref>> Lowering::apply_inferred(const ir::OpDef& op, const ir::Attributes& attributes,
                                                  const std::vector<Ref>& inputs,
                                                  std::span<const ir::InferOutput> outputs,
                                                  const Origin& origin) {
  for (const ir::InferOutput& o : outputs) {
    // Before the decomposition computes with the shape: its products must not overflow.
    if (op.lower) WALLE_TRY(check_shape(op, o, origin));  // else finish() does
    if (o.value) WALLE_TRY(count_table(o.shape.elements(), kNumberWork));
  }
  std::vector<Ref> refs;
  // Shape, Size, Range and the window functions answer in their shape rules: no node is left.
  if (all_known(outputs)) {
    for (const ir::InferOutput& o : outputs) {
      if (o.value) {
        refs.push_back(add_constant(*o.value));
      } else {
        WALLE_ASSIGN(refs.emplace_back(), add_sizes(o.dtype, o.shape, o.sizes));
      }
    }
    return refs;
  }
  // What is computed of sizes stays known; any other operator wants their numbers, and a backend that is
  // asked for a composite is asked with them. Movement sees below what its operands are.
  if (op.op_class != ir::OpClass::transform && some_sizes(inputs)) {
    if (auto known = computed_sizes(program_, op, attributes, inputs, outputs)) {
      WALLE_ASSIGN(refs.emplace_back(), add_sizes(outputs[0].dtype, outputs[0].shape, std::move(*known)));
      return refs;
    }
    WALLE_TRY(pin_all(inputs));
  }
  // Not for atoms without a rule: kernels take empty tensors themselves.
  if (op.lower && is_nothing(outputs)) {
    for (const ir::InferOutput& o : outputs) {
      WALLE_ASSIGN(refs.emplace_back(), append_raster({}, o.dtype, o.shape, {}, origin));
    }
    return refs;
  }
  const auto itself = [&] {
    return finish({.op = &op, .attributes = attributes, .inputs = inputs, .origin = origin}, outputs);
  };
  if (runs_whole(op, attributes, inputs, outputs)) return itself();
  WALLE_ASSIGN(refs, decompose(op, attributes, inputs, outputs, origin));
  // An atomic node that its rule left alone is in the form that kernels take.
  const bool rewritten = std::ranges::any_of(refs, [](Ref r) { return r >= 0; });
  if (op.op_class == ir::OpClass::atomic && !rewritten) return itself();
  WALLE_TRY(check_results(op, refs, outputs, origin));
  return refs;
}

bool Lowering::runs_whole(const ir::OpDef& op, const ir::Attributes& attributes,
                          const std::vector<Ref>& inputs, std::span<const ir::InferOutput> outputs) const {
  // An atom with a rule is asked first: it may be in a form that kernels do not take.
  if (op.op_class == ir::OpClass::atomic) return !op.lower;
  return op.op_class == ir::OpClass::composite && options_.claims &&
         options_.claims(op, attributes, infer_inputs(inputs), outputs);
}

Result<std::vector<Ref>> Lowering::decompose(const ir::OpDef& op, const ir::Attributes& attributes,
                                             const std::vector<Ref>& inputs,
                                             std::span<const ir::InferOutput> outputs, const Origin& origin) {
  if (!op.lower) return internal_error({op.name, " has no decomposition"}, describe(op, origin));
  if (depth_ >= kMaxDecompositionDepth)
    return internal_error("decomposition does not end", describe(op, origin));
  ++depth_;
  LowerContext context(*this, attributes, inputs, outputs, origin);
  const Status status = op.lower(context);
  --depth_;
  if (!status.ok()) return Error(status.error()).within(describe(op, origin));
  auto results = context.finish();
  if (!results.ok()) return Error(results.error()).within(describe(op, origin));
  return results;
}

Status Lowering::check_results(const ir::OpDef& op, const std::vector<Ref>& results,
                               std::span<const ir::InferOutput> outputs, const Origin& origin) const {
  for (size_t i = 0; i < results.size(); ++i) {
    // Outputs that nobody asked for need not be named.
    if (results[i] < 0 || outputs[i].dtype == DType::undefined) continue;
    const ProgramValue& v = program_.at(results[i]);
    // Every decomposition against its shape rule, in release builds too: a wrong one would be a kernel that
    // reads past its input.
    if (v.shape != outputs[i].shape || v.dtype != outputs[i].dtype)
      return internal_error(
          {"decomposition gives ", dtype_name(v.dtype), v.shape.text(), " where the shape rule says ",
           dtype_name(outputs[i].dtype), outputs[i].shape.text()},
          describe(op, origin));
  }
  return {};
}

Result<std::vector<Ref>> Lowering::finish(ProgramNode node, std::span<const ir::InferOutput> outputs) {
  // Asked for every node: a Loop-free model of a few kilobytes can unfold to millions (an LSTM of a long
  // sequence).
  if (static_cast<int64_t>(program_.nodes.size()) >= base::kMaxPlanNodes)
    return resource_error({"a model of more than ", base::kMaxPlanNodes, " steps"}, "fewer",
                          describe(*node.op, node.origin), "run the model in parts, or shorter sequences");
  int64_t bytes = 0;
  bool symbolic = false;
  for (const ir::InferOutput& o : outputs) {
    WALLE_TRY(check_shape(*node.op, o, node.origin));
    // Of a class no constant is one size; such a node runs, as cheap as it is.
    symbolic = symbolic || o.shape.symbolic();
    bytes += o.shape.plain().elements() * dtype_size(o.dtype);
  }
  symbolic = symbolic || (DimTrace::current() && is_symbolic(program_, node));
  if (options_.keep_halves && stays_half(program_, node)) bytes = 0;
  if (!symbolic && folds(node, bytes)) return fold(std::move(node), outputs);
  for (const ir::InferOutput& o : outputs)
    // Results that the shape rule left without a dtype do not exist here (optional outputs).
    node.outputs.push_back(o.dtype == DType::undefined ? kNoRef : add_value(o.dtype, o.shape));
  program_.nodes.push_back(std::move(node));
  return program_.nodes.back().outputs;
}

bool Lowering::folds(const ProgramNode& node, int64_t result_bytes) const {
  const auto constant = [&](Ref r) { return r < 0 || program_.at(r).constant.has_value(); };
  if (options_.keep_codes && node.op->name == "DequantizeLinear") return false;
  return options_.fold && node.op->deterministic && result_bytes <= options_.fold_limit_bytes &&
         std::ranges::all_of(node.inputs, constant);
}

Result<std::vector<Ref>> Lowering::fold(ProgramNode node, std::span<const ir::InferOutput> outputs) {
  Program one;
  // A program of its own: the kernels that fold are those that run, on one node.
  for (Ref& r : node.inputs)
    if (r >= 0) r = one.add(program_.at(r));
  for (const ir::InferOutput& o : outputs) one.outputs.push_back(one.add({o.dtype, o.shape, std::nullopt}));
  node.outputs = one.outputs;
  one.nodes.push_back(std::move(node));
  WALLE_ASSIGN(std::vector<Tensor> values, options_.fold(one));
  std::vector<Ref> refs;
  for (Tensor& t : values) refs.push_back(add_constant(std::move(t)));
  return refs;
}

namespace {
std::vector<ir::InferOutput> one_output(DType dtype, const Shape& shape) {
  return {{dtype, shape, std::nullopt}};
}
}  // namespace

Result<Ref> Lowering::append_raster(raster::Raster raster, DType dtype, const Shape& shape,
                                    const std::vector<Ref>& sources, const Origin& origin) {
  if (static_cast<int64_t>(raster.regions.size()) > base::kMaxRegions)
    return resource_error({raster.regions.size(), " regions"}, {"at most ", base::kMaxRegions}, origin.text(),
                          "split the operator");
  regions_ += static_cast<int64_t>(raster.regions.size());
  if (regions_ > base::kMaxPlanRegions)
    return resource_error({"a model whose movements take more than ", base::kMaxPlanRegions, " regions"},
                          "fewer", origin.text(), "run the model in parts");
  WALLE_TRY(shape.check(std::max<int64_t>(dtype_size(dtype), 1), origin.text()));
  std::vector<Dim> elements;
  for (Ref r : sources) {
    elements.push_back(program_.at(r).shape.dim_elements());
    // Rasters copy bits: a source of another dtype would be read wrongly, and a smaller one past its end.
    if (program_.at(r).dtype != dtype)
      return internal_error({"raster from ", dtype_name(program_.at(r).dtype), " to ", dtype_name(dtype)},
                            origin.text());
  }
  // Regions without elements have strides that mean nothing; later passes need not ask.
  std::erase_if(raster.regions, [](const raster::Region& r) { return r.elements() == 0; });
  // Every raster, whoever made it: all addresses inside source and destination, proven once here so that
  // kernels need not look.
  WALLE_TRY(raster::check(raster, elements, shape.dim_elements()));
  // One form for equal regions: the merge pass compares rasters size by size.
  for (raster::Region& r : raster.regions) r = raster::canonical(r);
  if (some_sizes(sources)) {
    if (auto known = moved_sizes(program_, raster, dtype, shape, sources))
      return add_sizes(dtype, shape, std::move(*known));
    WALLE_TRY(pin_all(sources));
  }
  ProgramNode node{.op = &raster_op(), .inputs = sources, .origin = origin, .raster = std::move(raster)};
  WALLE_ASSIGN(std::vector<Ref> refs, finish(std::move(node), one_output(dtype, shape)));
  return refs[0];
}

Result<Ref> Lowering::append_loop(raster::LoopSpec loop, DType dtype, const Shape& shape,
                                  const std::vector<Ref>& operands, const Origin& origin) {
  WALLE_TRY(raster::check(loop, program_.at(operands[0]).shape.dim_elements(),
                          program_.at(operands[1]).shape.dim_elements(), shape.dim_elements()));
  WALLE_TRY(pin_all(operands));
  const bool gathers = loop.combine == raster::Combine::assign && !loop.index_on_dst && !loop.base;
  const auto& data = program_.at(operands[0]).constant;
  const bool narrow = gathers && data && is_stored_half(*data);
  ProgramNode node{.op = &loop_op(), .inputs = operands, .origin = origin, .loop = std::move(loop)};
  // Of a table in 16 bits the rows that are looked up are widened, not the table.
  if (narrow) node.inputs[0] = add_constant(data->as_stored());
  const DType stored = program_.at(node.inputs[0]).dtype;
  WALLE_ASSIGN(std::vector<Ref> refs, finish(std::move(node), one_output(narrow ? stored : dtype, shape)));
  if (!narrow) return refs[0];
  const ir::OpDef* cast = find_op("Cast");
  if (!cast) return internal_error("operator 'Cast' is not in the op table", origin.text());
  WALLE_ASSIGN(refs, apply(*cast, {{"to", static_cast<int64_t>(dtype)}}, refs, 1, origin));
  return refs[0];
}

}  // namespace walle::ops
