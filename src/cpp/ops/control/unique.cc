// Unique: the distinct elements (or slices along an axis), where each was first seen, which one every element
// is, and how often each occurs. Their number depends on the values, so the executor runs it.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <compare>
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

// Slices in order, and of each whether it differs from the one before.
struct Order {
  std::vector<int64_t> slices;
  std::vector<uint8_t> differs;
};

// One sort for all dtypes: of its own for each they are 80 KB.
using Compare = int (*)(const void* data, const Slices& s, int64_t a, int64_t b);

Order order_of_slices(const void* data, Compare compare, const Slices& s) {
  Order order{std::vector<int64_t>(s.count), std::vector<uint8_t>(s.count, 1)};
  std::vector<int64_t>& slices = order.slices;
  std::iota(slices.begin(), slices.end(), 0);
  // Stable: the first of equal slices is the one that came first, whose index ONNX wants.
  std::ranges::stable_sort(slices, [&](int64_t a, int64_t b) { return compare(data, s, a, b) < 0; });
  for (size_t i = 1; i < slices.size(); ++i)
    order.differs[i] = compare(data, s, slices[i - 1], slices[i]) != 0 ? 1 : 0;
  return order;
}

// Single elements as numbers in their order, and equal where they are: sorting then needs no call for each
// comparison, which took 4.8 times as long as onnxruntime.
template <class T>
uint64_t key(T value) {
  constexpr uint64_t kSign = uint64_t{1} << 63;
  if constexpr (std::is_integral_v<T>) {
    return static_cast<uint64_t>(value) ^ (std::is_signed_v<T> ? kSign : 0);
  } else {
    double number = 0;
    if constexpr (std::is_floating_point_v<T>)
      number = value;
    else
      number = static_cast<float>(value);  // 16 bits
    if (number != number) return ~uint64_t{0};
    const auto bits = std::bit_cast<uint64_t>(number + 0.0);  // -0 becomes 0
    return (bits & kSign) != 0 ? ~bits : bits | kSign;
  }
}

struct Place {
  uint64_t key;
  int64_t index;
  auto operator<=>(const Place&) const = default;
};
using Keys = void (*)(const void* data, std::vector<Place>& places);

template <class T>
void keys(const void* data, std::vector<Place>& places) {
  for (Place& p : places) p.key = key(static_cast<const T*>(data)[p.index]);
}

// By bytes of the key from the last one on, each time in the order found, so that equal keys stay in that of
// their places; a byte that all keys share costs nothing. 262,144 elements of 1,000 values take 4 ms, and 29
// by comparisons, every other of which is guessed wrongly.
void sort_by_bytes(std::vector<Place>& places) {
  constexpr size_t kBytes = sizeof(Place::key), kValues = 256;
  std::vector<std::array<int64_t, kValues>> counts(kBytes);
  for (const Place& p : places)
    for (size_t b = 0; b < kBytes; ++b) ++counts[b][p.key >> (8 * b) & 0xff];
  std::vector<Place> other(places.size());
  for (size_t b = 0; b < kBytes; ++b) {
    std::array<int64_t, kValues>& to = counts[b];
    if (std::ranges::find(to, std::ssize(places)) != to.end()) continue;
    std::exclusive_scan(to.begin(), to.end(), to.begin(), int64_t{0});
    for (const Place& p : places) other[to[p.key >> (8 * b) & 0xff]++] = p;
    places.swap(other);
  }
}

// Below it the counts of bytes are most of the work.
constexpr int64_t kFew = 256;

Order order_of_elements(const void* data, Keys keys, int64_t count) {
  std::vector<Place> places(count);
  for (int64_t i = 0; i < count; ++i) places[i].index = i;
  keys(data, places);
  if (count < kFew)
    std::ranges::sort(places);
  else
    sort_by_bytes(places);
  Order order{std::vector<int64_t>(count), std::vector<uint8_t>(count, 1)};
  for (int64_t i = 0; i < count; ++i) {
    order.slices[i] = places[i].index;
    if (i > 0) order.differs[i] = places[i].key != places[i - 1].key ? 1 : 0;
  }
  return order;
}

Found found_in(const Order& order) {
  Found f;
  f.inverse.resize(order.slices.size());
  for (size_t i = 0; i < order.slices.size(); ++i) {
    if (order.differs[i] != 0) {
      f.first.push_back(order.slices[i]);
      f.counts.push_back(0);
    }
    ++f.counts.back();
    f.inverse[order.slices[i]] = static_cast<int64_t>(f.first.size()) - 1;
  }
  return f;
}

// The same by first appearance; the inverse follows the renumbering.
Found by_appearance(const Found& f) {
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
  Compare compared = nullptr;
  Keys numbered = nullptr;
  const bool known = tensor::visit_all(data->dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    compared = compare<T>;
    numbered = keys<T>;
  });
  if (!known)
    return model_error({"data of ", dtype_name(data->dtype())}, "a numeric or boolean dtype", "input 0",
                       "cast the data");
  Found f = found_in(s.length() == 1 ? order_of_elements(data->data(), numbered, s.count)
                                     : order_of_slices(data->data(), compared, s));
  if (c.attrs().get_int("sorted", 1) == 0) f = by_appearance(f);
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
