// What walle.Tensor computes with: array/ behind the boundary's plain structures.
#include <algorithm>

#include "array/elementwise.h"
#include "array/matmul.h"
#include "array/movement.h"
#include "array/reduce.h"
#include "array/select.h"
#include "container/host/host_calls.h"
#include "vm/convert.h"

namespace walle::container::host {

namespace {

// The task's heap limit, and the end of its call.
class TaskBudget final : public array::Budget {
 public:
  explicit TaskBudget(const wvm_budget& task) : task_(task) {}
  bool take(int64_t bytes) override { return task_.charge(static_cast<size_t>(bytes)) == 0; }
  void give_back(int64_t bytes) override { task_.discharge(static_cast<size_t>(bytes)); }
  bool must_stop() override { return task_.must_stop() != 0; }

 private:
  const wvm_budget& task_;
};

Layout layout_of(const wvm_view& view) {
  Layout layout;
  layout.shape = Shape(std::span<const int64_t>(view.shape, view.rank));
  std::copy_n(view.stride, view.rank, layout.stride.begin());
  layout.offset = view.offset;
  return layout;
}

Strided strided(const wvm_view& view) {
  return {static_cast<DType>(view.tensor->dtype), static_cast<std::byte*>(view.tensor->data),
          layout_of(view)};
}

void describe(const Layout& layout, wvm_tensor* tensor, wvm_view* out) {
  out->tensor = tensor;
  out->offset = layout.offset;
  out->rank = static_cast<uint8_t>(layout.rank());
  std::copy_n(layout.shape.begin(), layout.rank(), out->shape);
  std::copy_n(layout.stride.begin(), layout.rank(), out->stride);
}

array::Number number_of(const wvm_operand& operand) {
  array::Number number;
  if (operand.number.kind == WVM_FLOAT) {
    number.kind = array::Number::Kind::real;
    number.real = operand.number.as.real;
    return number;
  }
  number.kind = operand.number.kind == WVM_BOOL ? array::Number::Kind::boolean : array::Number::Kind::integer;
  number.range = static_cast<array::Number::Range>(operand.range);
  number.integer = operand.number.as.integer;
  return number;
}

// Errors travel as text in the caller's own memory: below lies C, which frees nothing.
int failed(const Error& error, wvm_error* out) {
  vm::tell(error, out);
  return -1;
}

int finish(Result<Tensor> made, array::Budget& budget, wvm_view* out, wvm_error* error) {
  if (!made.ok()) return failed(made.error(), error);
  const int64_t bytes = made->bytes();
  const Layout layout = Layout::dense(made->shape());
  wvm_tensor* tensor = vm::lend(std::move(made).value());
  if (tensor == nullptr) {
    budget.give_back(bytes);
    return failed(
        resource_error("a tensor", "memory for it", "", "free memory").of_kind(base::ErrorKind::no_memory),
        error);
  }
  describe(layout, tensor, out);
  return 0;
}

// An operand whose view lives beside it.
struct Side {
  explicit Side(const wvm_operand& given) {
    if (given.view == nullptr) {
      operand.number = number_of(given);
      return;
    }
    view = strided(*given.view);
    operand.array = &view;
  }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  Strided view;
  array::Operand operand;
};

int binary(int op, const wvm_operand* x, const wvm_operand* y, const wvm_budget* task, wvm_view* out,
           wvm_error* error) {
  TaskBudget budget(*task);
  const Side left(*x);
  const Side right(*y);
  if (op == WVM_MATRIX_MULTIPLY) {
    if (x->view == nullptr || y->view == nullptr)
      return failed(argument_error("'@' of a number", "tensors of one axis or more", "", "use *"), error);
    return finish(array::matmul(left.view, right.view, budget), budget, out, error);
  }
  return finish(array::binary(static_cast<array::Binary>(op), left.operand, right.operand, budget), budget,
                out, error);
}

int unary(int op, const wvm_view* x, const wvm_budget* task, wvm_view* out, wvm_error* error) {
  TaskBudget budget(*task);
  return finish(array::unary(static_cast<array::Unary>(op), strided(*x), budget), budget, out, error);
}

int where(const wvm_operand* condition, const wvm_operand* x, const wvm_operand* y, const wvm_budget* task,
          wvm_view* out, wvm_error* error) {
  TaskBudget budget(*task);
  const Side chosen(*condition);
  const Side left(*x);
  const Side right(*y);
  return finish(array::where(chosen.operand, left.operand, right.operand, budget), budget, out, error);
}

int reduce(int op, const wvm_view* x, uint32_t axes, int keep_axes, const wvm_budget* task, wvm_view* out,
           wvm_error* error) {
  TaskBudget budget(*task);
  return finish(array::reduce(static_cast<array::Reduction>(op), strided(*x),
                              {.mask = axes, .keep = keep_axes != 0}, budget),
                budget, out, error);
}

int astype(const wvm_view* x, uint8_t dtype, const wvm_budget* task, wvm_view* out, wvm_error* error) {
  TaskBudget budget(*task);
  return finish(array::astype(strided(*x), static_cast<DType>(dtype), budget), budget, out, error);
}

int convert(const wvm_view* x, uint8_t dtype, const wvm_budget* task, wvm_view* out, wvm_error* error) {
  const Status fits = array::check_fits(strided(*x), static_cast<DType>(dtype));
  return fits.ok() ? astype(x, dtype, task, out, error) : failed(fits.error(), error);
}

int assign(const wvm_view* x, const wvm_operand* y, int same_kind, const wvm_budget* task, wvm_error* error) {
  TaskBudget budget(*task);
  const Strided to = strided(*x);
  const Side from(*y);
  if (from.operand.array != nullptr && same_kind != 0 &&
      !array::can_cast_same_kind(from.view.dtype, to.dtype)) {
    return failed(argument_error({"a result of ", dtype_name(from.view.dtype)},
                                 {"one that ", dtype_name(to.dtype), " holds"}, "",
                                 "write t = t + ... instead of t += ...")
                      .of_kind(base::ErrorKind::wrong_type),
                  error);
  }
  const Status done = from.operand.array != nullptr ? array::assign(to, from.view, budget)
                                                    : array::assign(to, from.operand.number);
  return done.ok() ? 0 : failed(done.error(), error);
}

int index(const wvm_view* x, const wvm_index* items, size_t count, wvm_view* out, wvm_error* error) {
  std::array<tensor::IndexItem, WVM_MAX_INDEX> read;
  for (size_t i = 0; i < count; ++i)
    read[i] = {static_cast<tensor::IndexItem::Kind>(items[i].kind), items[i].start, items[i].stop,
               items[i].step};
  const Result<Layout> layout =
      tensor::index(layout_of(*x), std::span<const tensor::IndexItem>(read.data(), count));
  if (!layout.ok()) return failed(layout.error(), error);
  describe(*layout, x->tensor, out);
  return 0;
}

// The axes were checked where the task named them (vm/inside/values/tensor_methods.c).
int transpose(const wvm_view* x, const int* axes, wvm_view* out, wvm_error* /*error*/) {
  describe(tensor::transposed(layout_of(*x), std::span<const int>(axes, x->rank)), x->tensor, out);
  return 0;
}

int reshape(const wvm_view* x, const int64_t* shape, int rank, const wvm_budget* task, wvm_view* out,
            wvm_error* error) {
  const Strided from = strided(*x);
  const Result<Shape> wanted =
      tensor::reshaped_shape(from.shape(), std::span<const int64_t>(shape, static_cast<size_t>(rank)));
  if (!wanted.ok()) return failed(wanted.error(), error);
  // A view wherever strides can say it, as in NumPy: what is written to it reaches the original.
  if (const std::optional<Layout> layout = tensor::reshaped(from.layout, *wanted)) {
    describe(*layout, x->tensor, out);
    return 0;
  }
  TaskBudget budget(*task);
  Result<Tensor> copied = array::astype(from, from.dtype, budget);
  if (copied.ok()) copied = copied->reshaped(*wanted);
  return finish(std::move(copied), budget, out, error);
}

wvm_tensor* dense(const wvm_view* x) {
  const Strided from = strided(*x);
  const Tensor& whole = vm::tensor_of(x->tensor);
  if (from.layout.is_dense()) {
    const auto skipped = static_cast<size_t>(from.layout.offset * dtype_size(from.dtype));
    return vm::lend(Tensor(from.dtype, from.shape(), whole.buffer(), whole.byte_offset() + skipped));
  }
  Result<Tensor> copied = Tensor::allocate(from.dtype, from.shape());
  if (!copied.ok()) return nullptr;
  array::copy(from,
              {from.dtype, static_cast<std::byte*>(copied->mutable_data()), Layout::dense(from.shape())});
  return vm::lend(std::move(copied).value());
}

}  // namespace

const wvm_arrays kArrays = {.binary = binary,
                            .unary = unary,
                            .where = where,
                            .reduce = reduce,
                            .astype = astype,
                            .convert = convert,
                            .assign = assign,
                            .index = index,
                            .transpose = transpose,
                            .reshape = reshape,
                            .dense = dense};

}  // namespace walle::container::host
