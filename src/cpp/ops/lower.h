// Lowering: graph nodes to a Program. LowerContext is what an operator's lower() sees: it reads its inputs,
// emits other operators or rasters, and names its results.
//
// Errors are sticky: after the first failure every further call does nothing and returns kNoRef, so that
// decompositions read like the formula they implement; whoever runs the decomposition looks at the error
// once. One Lowering serves one thread.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/program.h"

namespace walle::ops {

// What an element of a table costs to compute while planning, in the steps that base::kMaxPlanTable counts.
inline constexpr int64_t kFlagWork = 1;     // a flag that is set
inline constexpr int64_t kNumberWork = 4;   // a number that is appended, or a sine
inline constexpr int64_t kSearchWork = 16;  // a place that is searched

struct LowerOptions {
  // A backend runs this composite whole; nullptr: nothing is claimed.
  std::function<bool(const ir::OpDef&, const ir::Attributes&, std::span<const ir::InferInput>,
                     std::span<const ir::InferOutput>)>
      claims;
  // Computes a node whose inputs are all constant; nullptr: nothing is folded.
  std::function<Result<std::vector<Tensor>>(const Program& one_node)> fold;
  // A folded value is kept for the model's life. 64 MB hold any table or transposed weight of a network for
  // devices; what a hostile Tile or Expand would make larger is left to run time.
  int64_t fold_limit_bytes = int64_t{64} << 20;  // results larger than this are left to run time
  // Dequantised constants stay nodes where a backend runs them whole, for the rules of quantised layers
  // (passes/fuse_codes.h); passes/fold_known.h folds what those leave.
  bool keep_codes = false;
  // Constants stored in 16 bits stay so (stored_halves.h), whatever their size: nothing is made of them.
  bool keep_halves = false;
};

// A model error when one of the operands that an operator cannot do without is left out.
Status check_inputs(const ir::OpDef& op, const std::vector<Ref>& inputs);

class Lowering {
 public:
  Lowering(Program& program, LowerOptions options) : program_(program), options_(std::move(options)) {}

  Program& program() { return program_; }
  Ref add_value(DType dtype, const Shape& shape);
  Ref add_constant(Tensor value);
  // A value whose elements are known, some of them symbols; a constant where none is.
  Result<Ref> add_sizes(DType dtype, const Shape& shape, std::vector<Dim> sizes);
  // Makes a constant of a value that is known by symbols: the plan serves these sizes only. Others stay.
  Status pin(Ref r);
  // Counts a table that a decomposition is about to compute (a mask, sines,
  // positions); an error once the model's tables together exceed base::kMaxPlanTable
  // steps of work: sizes come from shapes, which cost a hostile file nothing.
  Status count_table(int64_t elements, int64_t work);
  ir::InferInput infer_input(Ref r) const;

  // Shape rule, then fold, claim or decompose, down to program nodes. `outputs` results (some may be unused).
  Result<std::vector<Ref>> apply(const ir::OpDef& op, const ir::Attributes& attributes,
                                 const std::vector<Ref>& inputs, int outputs, const Origin& origin);
  // The same after the shape rule ran (its outputs given).
  Result<std::vector<Ref>> apply_inferred(const ir::OpDef& op, const ir::Attributes& attributes,
                                          const std::vector<Ref>& inputs,
                                          std::span<const ir::InferOutput> outputs, const Origin& origin);
  Result<Ref> append_raster(raster::Raster raster, DType dtype, const Shape& shape,
                            const std::vector<Ref>& sources, const Origin& origin);
  Result<Ref> append_loop(raster::LoopSpec loop, DType dtype, const Shape& shape,
                          const std::vector<Ref>& operands, const Origin& origin);

  // For as long as it lives no backend claims a composite: everything becomes atoms.
  class Unclaimed {
   public:
    explicit Unclaimed(Lowering& lowering)
        : lowering_(lowering), claims_(std::exchange(lowering.options_.claims, nullptr)) {}
    ~Unclaimed() { lowering_.options_.claims = std::move(claims_); }
    Unclaimed(const Unclaimed&) = delete;
    Unclaimed& operator=(const Unclaimed&) = delete;

   private:
    Lowering& lowering_;
    decltype(LowerOptions::claims) claims_;
  };

 private:
  // Whether a backend runs the operator as it is: atomic without a rewriting rule, or a composite it claims.
  bool runs_whole(const ir::OpDef& op, const ir::Attributes& attributes, const std::vector<Ref>& inputs,
                  std::span<const ir::InferOutput> outputs) const;
  // The results that the operator's lower() names; kNoRef for those it does not.
  Result<std::vector<Ref>> decompose(const ir::OpDef& op, const ir::Attributes& attributes,
                                     const std::vector<Ref>& inputs, std::span<const ir::InferOutput> outputs,
                                     const Origin& origin);
  Status check_results(const ir::OpDef& op, const std::vector<Ref>& results,
                       std::span<const ir::InferOutput> outputs, const Origin& origin) const;
  std::vector<ir::InferInput> infer_inputs(const std::vector<Ref>& refs) const;
  // Appends the node, or its results as constants where all its inputs are.
  Result<std::vector<Ref>> finish(ProgramNode node, std::span<const ir::InferOutput> outputs);
  Status pin_all(const std::vector<Ref>& refs);
  bool some_sizes(const std::vector<Ref>& refs) const;
  bool folds(const ProgramNode& node, int64_t result_bytes) const;
  Result<std::vector<Ref>> fold(ProgramNode node, std::span<const ir::InferOutput> outputs);

  Program& program_;
  LowerOptions options_;
  int64_t table_work_ = 0;
  int64_t regions_ = 0;  // of all rasters appended
  int depth_ = 0;        // of decomposition; bounded so that a cycle of decompositions is an error
};

class LowerContext {
 public:
  LowerContext(Lowering& lowering, const ir::Attributes& attributes, const std::vector<Ref>& inputs,
               std::span<const ir::InferOutput> outputs, const Origin& origin)
      : lowering_(lowering),
        attributes_(attributes),
        inputs_(inputs),
        outputs_(outputs),
        origin_(origin),
        results_(outputs.size(), kNoRef) {}

  const ir::Attributes& attrs() const { return attributes_; }
  int input_count() const { return static_cast<int>(inputs_.size()); }
  bool has(int i) const { return i >= 0 && i < input_count() && inputs_[i] >= 0; }
  Ref in(int i) const { return has(i) ? inputs_[i] : kNoRef; }
  int output_count() const { return static_cast<int>(outputs_.size()); }
  DType out_dtype(int i) const { return outputs_[i].dtype; }
  const Shape& out_shape(int i) const { return outputs_[i].shape; }

  const Shape& shape(Ref r) const;
  DType dtype(Ref r) const;
  const Tensor* constant(Ref r) const;
  // The elements of an integer value that is known while planning; symbols stay such. nullopt: not known.
  std::optional<std::vector<Dim>> dims(Ref r) const;

  // One operator with one result, or with several.
  Ref emit(std::string_view op, std::initializer_list<Ref> inputs, ir::Attributes attributes = {});
  Ref emit(std::string_view op, const std::vector<Ref>& inputs, ir::Attributes attributes = {});
  std::vector<Ref> emit_many(std::string_view op, const std::vector<Ref>& inputs, ir::Attributes attributes,
                             int outputs);
  Ref raster(raster::Raster raster, DType dtype, const Shape& shape, const std::vector<Ref>& sources);
  Ref loop(raster::LoopSpec loop, DType dtype, const Shape& shape, const std::vector<Ref>& operands);

  // For what emits whole graphs.
  Lowering& lowering() { return lowering_; }
  const Origin& origin() const { return origin_; }

  // False, with the context failed, when a table of so many elements must not be computed; ask before making
  // one. `work`: what an element costs, kFlagWork to kSearchWork.
  bool may_tabulate(int64_t elements, int64_t work);

  // False, with the context failed, when a value of this shape cannot be; ask before computing with a shape
  // that no shape rule has checked.
  bool may_have(DType dtype, const Shape& shape);

  // Shorthand for decompositions.
  Ref constant(Tensor value) { return lowering_.add_constant(std::move(value)); }
  Ref scalar(DType dtype, double value);   // rank 0
  Ref ints(std::vector<int64_t> values);   // rank 1, int64
  Ref reshape(Ref r, const Shape& shape);  // an alias: equal element counts
  Ref transpose(Ref r, std::vector<int64_t> perm) {
    return emit("Transpose", {r}, {{"perm", std::move(perm)}});
  }
  Ref cast(Ref r, DType dtype);
  Ref add(Ref a, Ref b) { return emit("Add", {a, b}); }
  Ref sub(Ref a, Ref b) { return emit("Sub", {a, b}); }
  Ref mul(Ref a, Ref b) { return emit("Mul", {a, b}); }
  Ref div(Ref a, Ref b) { return emit("Div", {a, b}); }
  // Reductions over `axes` of x (ONNX names: "ReduceSum", "ReduceMean", "ReduceMax", ...).
  Ref reduce(std::string_view op, Ref r, std::vector<int64_t> axes, bool keepdims);

  void result(int i, Ref r) {
    if (static_cast<size_t>(i) < results_.size()) results_[i] = r;  // else one that nobody asked for
  }
  void fail(Error error) {
    if (!error_) error_ = std::move(error);
  }
  bool failed() const { return error_.has_value(); }
  Result<std::vector<Ref>> finish();

 private:
  bool all_given(const std::vector<Ref>& inputs);  // else the context has failed

  Lowering& lowering_;
  const ir::Attributes& attributes_;
  const std::vector<Ref>& inputs_;
  std::span<const ir::InferOutput> outputs_;
  const Origin& origin_;
  std::vector<Ref> results_;
  std::optional<Error> error_;
};

}  // namespace walle::ops
