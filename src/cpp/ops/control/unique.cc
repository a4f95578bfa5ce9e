// Unique: the distinct elements (or slices along an axis), where each was first seen, which one every element
// is, and how often each occurs. Their number depends on the values, so the executor runs it.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/copy.h"
#include "ir/op_def.h"
#include "ops/control_context.h"

namespace walle::ops {

namespace {
// The data as `count` slices of `inner` elements each, read through (outer, slice, inner) strides.
struct Slices {
  int64_t outer = 1, count = 1, inner = 1;
  int64_t at(int64_t slice, int64_t k) const { return (k / inner * count + slice) * inner + k % inner; }
  int64_t length() const { return outer * inner; }
};

struct Found {
  std::vector<int64_t> first, inverse, counts;
};

// Distinct slices by sorting slice numbers: three-way comparison, NaN after every number and equal to itself.
template <class T>
int compare(const void* values, const Slices& s, int64_t a, int64_t b) {
  const T* data = static_cast<const T*>(values);
  const auto value = [&](int64_t slice, int64_t k) {
    if constexpr (std::is_same_v<T, tensor::Half> || std::is_same_v<T, tensor::BFloat16>)
      return static_cast<float>(data[s.at(slice, k)]);
    else
      return data[s.at(slice, k)];
  };
  for (int64_t k = 0; k < s.length(); ++k) {
    const auto x = value(a, k);
    const auto y = value(b, k);
    // Twice `<` and no `==`, so that NaN falls through to the question below.
    if (x < y) return -1;
    if (y < x) return 1;
    // Two NaN are equal here, as in NumPy since 1.21 and in ONNX's reference.
    const bool nan_x = x != x;
    const bool nan_y = y != y;
    if (nan_x != nan_y) return nan_x ? 1 : -1;
  }
  return 0;
}

// One sort for all dtypes: of its own for each they are 80 KB.
using Compare = int (*)(const void* data, const Slices& s, int64_t a, int64_t b);

Found find(const void* data, Compare compare, const Slices& s, bool sorted) {
  std::vector<int64_t> order(s.count);
  std::iota(order.begin(), order.end(), 0);
  // Stable: the first of equal slices is the one that came first, whose index ONNX wants. Sorting needs no
  // hash of NaN, -0 and 16-bit floats.
  std::ranges::stable_sort(order, [&](int64_t a, int64_t b) { return compare(data, s, a, b) < 0; });
  Found f;
  f.inverse.resize(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || compare(data, s, order[i - 1], order[i]) != 0) {
      f.first.push_back(order[i]);
      f.counts.push_back(0);
    }
    ++f.counts.back();
    f.inverse[order[i]] = static_cast<int64_t>(f.first.size()) - 1;
  }
  if (sorted) return f;
  // In order of first appearance; the inverse follows the renumbering.
  std::vector<size_t> seen(f.first.size());
  std::iota(seen.begin(), seen.end(), size_t{0});
  std::ranges::sort(seen, [&](size_t a, size_t b) { return f.first[a] < f.first[b]; });
  Found g{{}, f.inverse, {}};
  std::vector<int64_t> rank(seen.size());
  for (size_t i = 0; i < seen.size(); ++i) {
    rank[seen[i]] = static_cast<int64_t>(i);
    g.first.push_back(f.first[seen[i]]);
    g.counts.push_back(f.counts[seen[i]]);
  }
  for (int64_t& i : g.inverse) i = rank[i];
  return g;
}

Status output_ints(ControlContext& c, int i, const std::vector<int64_t>& values) {
  if (i >= c.output_count()) return {};
  WALLE_ASSIGN(Tensor t, Tensor::vector_i64(values));
  c.output(i, std::move(t));
  return {};
}

Result<Tensor> pick(const Tensor& data, const Slices& s, Shape shape, int axis,
                    const std::vector<int64_t>& slices) {
  shape[axis] = static_cast<int64_t>(slices.size());
  WALLE_ASSIGN(Tensor out, Tensor::allocate(data.dtype(), shape));
  const int64_t run = s.inner * dtype_size(data.dtype());
  const auto* from = static_cast<const std::byte*>(data.data());
  auto* to = static_cast<std::byte*>(out.mutable_data());
  for (int64_t o = 0; o < s.outer && run > 0; ++o)
    for (int64_t slice : slices) {
      base::copy_bytes(to, from + (o * s.count + slice) * run, run);
      to += run;
    }
  return out;
}

Status run(ControlContext& c) {
  const Tensor* data = c.in(0).tensor();
  if (!data) return model_error("no tensor", "a tensor", "input 0", "connect the input");
  const bool flat = !c.attrs().has("axis");
  const Shape shape = flat ? Shape{data->elements()} : data->shape();
  WALLE_ASSIGN(const int axis, tensor::normalize_axis(flat ? 0 : c.attrs().get_int("axis", 0), shape.rank()));
  const Slices s{shape.product(0, axis), shape[axis], shape.product(axis + 1, shape.rank())};
  Found f;
  const bool known = tensor::visit_all(data->dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    f = find(data->data(), compare<T>, s, c.attrs().get_int("sorted", 1) != 0);
  });
  if (!known)
    return model_error({"data of ", dtype_name(data->dtype())}, "a numeric or boolean dtype", "input 0",
                       "cast the data");
  WALLE_ASSIGN(Tensor values, pick(*data, s, shape, axis, f.first));
  c.output(0, std::move(values));
  WALLE_TRY(output_ints(c, 1, f.first));
  WALLE_TRY(output_ints(c, 2, f.inverse));
  return output_ints(c, 3, f.counts);
}
}  // namespace

extern const ir::OpDef kUniqueOp{
    .name = "Unique", .op_class = ir::OpClass::control, .outputs = {1, 4}, .control = run};

}  // namespace walle::ops
