// Sequences of tensors: construct, look up, insert, erase, split and join. Sequences are immutable; edits
// copy the list of handles, never the tensors' bytes.
#include <array>

#include "ir/op_def.h"
#include "ops/control_context.h"
#include "ops/rules/slices.h"

namespace walle::ops {

namespace {
Result<const ir::Sequence*> sequence(const ControlContext& c, int i) {
  if (const ir::Sequence* s = i < c.input_count() ? c.in(i).sequence() : nullptr) return s;
  return model_error("an input that is not a sequence", "a sequence of tensors", {"input ", i},
                     "connect a sequence");
}

Result<const Tensor*> tensor_at(const ControlContext& c, int i) {
  if (const Tensor* t = i < c.input_count() ? c.in(i).tensor() : nullptr) return t;
  return model_error("an input that is not a tensor", "a tensor", {"input ", i}, "connect a tensor");
}

bool given(const ControlContext& c, int i) { return i < c.input_count() && !c.in(i).empty(); }

// Input i as a position in [0, limit), negatives counting from the end.
// `limit` is one more than `count` where a place behind the last item exists.
Result<size_t> position(const ControlContext& c, int i, size_t count, size_t limit) {
  WALLE_ASSIGN(const int64_t given_at, one_integer(c.in(i).tensor(), "input position"));
  const int64_t at = given_at < 0 ? given_at + static_cast<int64_t>(count) : given_at;
  if (at < 0 || at >= static_cast<int64_t>(limit))
    return model_error({"position ", given_at}, {"a position inside a sequence of ", count}, "input position",
                       "correct the position");
  return at;
}

void output(ControlContext& c, ir::Sequence s) {
  c.output(0, ir::RuntimeValue(std::make_shared<const ir::Sequence>(std::move(s))));
}

Status run_empty(ControlContext& c) {
  const int64_t code = c.attrs().get_int("dtype", static_cast<int64_t>(DType::float32));
  if (code <= 0 || code >= tensor::kDTypeCount)
    return model_error({"dtype ", code}, "a known element type", "attribute dtype", "correct dtype");
  output(c, {static_cast<DType>(code), {}});
  return {};
}

Status run_construct(ControlContext& c) {
  ir::Sequence s;
  for (int i = 0; i < c.input_count(); ++i) {
    WALLE_ASSIGN(const Tensor* t, tensor_at(c, i));
    // ONNX sequences hold one dtype; shapes may differ.
    if (i > 0 && t->dtype() != s.dtype)
      return model_error({"tensors of ", dtype_name(s.dtype), " and ", dtype_name(t->dtype())}, "one dtype",
                         {"input ", i}, "cast the inputs");
    s.dtype = t->dtype();
    s.items.push_back(*t);
  }
  output(c, std::move(s));
  return {};
}

Status run_at(ControlContext& c) {
  WALLE_ASSIGN(const ir::Sequence* s, sequence(c, 0));
  WALLE_ASSIGN(const size_t at, position(c, 1, s->items.size(), s->items.size()));
  c.output(0, s->items[at]);
  return {};
}

Status run_insert(ControlContext& c) {
  WALLE_ASSIGN(const ir::Sequence* from, sequence(c, 0));
  WALLE_ASSIGN(const Tensor* t, tensor_at(c, 1));
  if (!from->items.empty() && t->dtype() != from->dtype)
    return model_error({"a tensor of ", dtype_name(t->dtype())}, dtype_name(from->dtype), "input tensor",
                       "cast the tensor");
  size_t at = from->items.size();
  if (given(c, 2)) {
    // One more than there are: inserting behind the last one.
    WALLE_ASSIGN(at, position(c, 2, from->items.size(), from->items.size() + 1));
  }
  // Handles: a sequence of n tensors costs n pointers to edit, as in ONNX's value semantics.
  ir::Sequence s = *from;
  // An empty sequence takes the dtype of its first element: ONNX's SequenceEmpty defaults to float32 and
  // files rely on it meaning nothing.
  s.dtype = t->dtype();
  s.items.insert(s.items.begin() + static_cast<std::ptrdiff_t>(at), *t);
  output(c, std::move(s));
  return {};
}

Status run_erase(ControlContext& c) {
  WALLE_ASSIGN(const ir::Sequence* from, sequence(c, 0));
  // ONNX leaves it open; Python raises an error as well.
  if (from->items.empty())
    return model_error("an empty sequence", "a sequence with elements", "input 0",
                       "check SequenceLength first");
  size_t at = from->items.size() - 1;
  // Without a position the last one goes, as list.pop().
  if (given(c, 1)) {
    WALLE_ASSIGN(at, position(c, 1, from->items.size(), from->items.size()));
  }
  ir::Sequence s = *from;
  s.items.erase(s.items.begin() + static_cast<std::ptrdiff_t>(at));
  output(c, std::move(s));
  return {};
}

Status run_length(ControlContext& c) {
  WALLE_ASSIGN(const ir::Sequence* s, sequence(c, 0));
  WALLE_ASSIGN(Tensor n, Tensor::scalar<int64_t>(static_cast<int64_t>(s->items.size())));
  c.output(0, std::move(n));
  return {};
}

Status run_concat(ControlContext& c) {
  WALLE_ASSIGN(const ir::Sequence* s, sequence(c, 0));
  if (s->items.empty())
    return model_error("an empty sequence", "at least one tensor to join", "input 0",
                       "check SequenceLength first");
  const bool new_axis = c.attrs().get_int("new_axis", 0) != 0;
  // With new_axis there is one axis more to stand on.
  const int rank = s->items[0].shape().rank() + (new_axis ? 1 : 0);
  WALLE_ASSIGN(const int axis, tensor::normalize_axis(c.attrs().get_int("axis", 0), rank));
  // Concat cannot make an axis; stack() can.
  if (new_axis) {
    WALLE_ASSIGN(Tensor all, stack(s->items, axis));
    c.output(0, std::move(all));
    return {};
  }
  WALLE_ASSIGN(std::vector<Tensor> joined, c.run_op("Concat", {{"axis", int64_t{axis}}}, s->items, 1));
  c.output(0, std::move(joined[0]));
  return {};
}

// Sizes of the pieces along an axis of `total`: listed, all of one size (the last may be smaller), or ones.
Result<std::vector<int64_t>> piece_sizes(const ControlContext& c, int64_t total) {
  std::vector<int64_t> sizes;
  int64_t each = 1;
  if (given(c, 1)) {
    WALLE_ASSIGN(const Tensor* split, tensor_at(c, 1));
    WALLE_ASSIGN(sizes, split->to_i64());
    // A scalar is the size of every piece, a list the size of each (ONNX SplitToSequence).
    if (split->shape().rank() == 0) {
      each = sizes[0];
      sizes.clear();
    } else {
      int64_t left = total;
      // Subtracting from what is left cannot overflow, as adding up a file's numbers could.
      for (int64_t n : sizes) left = n < 0 || n > left ? -1 : left - n;
      if (left != 0)
        return model_error("split sizes that do not add up", {"sizes of zero or more that sum to ", total},
                           "input split", "correct split");
      return sizes;
    }
  }
  if (each < 1) return model_error({"a piece size of ", each}, "1 or more", "input split", "correct split");
  for (int64_t at = 0; at < total; at += each) sizes.push_back(std::min(each, total - at));
  return sizes;
}

Status run_split(ControlContext& c) {
  WALLE_ASSIGN(const Tensor* x, tensor_at(c, 0));
  WALLE_ASSIGN(const int axis, tensor::normalize_axis(c.attrs().get_int("axis", 0), x->shape().rank()));
  WALLE_ASSIGN(const std::vector<int64_t> sizes, piece_sizes(c, x->shape()[axis]));
  // keepdims counts only where `split` is not given.
  const bool squeeze = !given(c, 1) && c.attrs().get_int("keepdims", 1) == 0;
  ir::Sequence s{x->dtype(), {}};
  int64_t at = 0;
  // Pieces are cut by the operators of the table, which
  // know how; take() drops the axis that Slice would keep.
  for (int64_t n : sizes) {
    std::vector<Tensor> inputs{*x};
    // Inputs of Slice: starts, ends, axes.
    for (int64_t v : {at, at + n, int64_t{axis}}) {
      WALLE_ASSIGN(Tensor one, Tensor::vector_i64({&v, 1}));
      inputs.push_back(std::move(one));
    }
    if (squeeze) {
      WALLE_ASSIGN(Tensor slice, take(*x, axis, at));
      s.items.push_back(std::move(slice));
    } else {
      WALLE_ASSIGN(std::vector<Tensor> piece, c.run_op("Slice", {}, inputs, 1));
      s.items.push_back(std::move(piece[0]));
    }
    at += n;
  }
  output(c, std::move(s));
  return {};
}

constexpr ir::OpDef row(std::string_view name, ir::Arity inputs, ir::ControlFn run) {
  return {.name = name, .op_class = ir::OpClass::control, .inputs = inputs, .control = run};
}

constexpr std::array kRows{
    row("SequenceEmpty", {0, 0}, run_empty),
    row("SequenceConstruct", {1, -1}, run_construct),
    row("SequenceAt", {2, 2}, run_at),
    row("SequenceInsert", {2, 3}, run_insert),
    row("SequenceErase", {1, 2}, run_erase),
    row("SequenceLength", {1, 1}, run_length),
    row("ConcatFromSequence", {1, 1}, run_concat),
    row("SplitToSequence", {1, 2}, run_split),
};
}  // namespace

extern const std::span<const ir::OpDef> kSequenceOps = kRows;

}  // namespace walle::ops
