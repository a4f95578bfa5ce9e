#include "tensor/shape.h"

#include <algorithm>
#include <limits>

#include "base/checked.h"

namespace walle::tensor {

Result<Shape> Shape::checked(std::span<const int64_t> dims, int64_t dtype_size, const std::string& where) {
  // First: a Shape of more axes than it has places must not be made.
  if (dims.size() > static_cast<size_t>(base::kMaxRank))
    return model_error({"rank ", dims.size()}, {"rank at most ", base::kMaxRank}, where,
                       "reshape so that fewer axes are needed");
  // An axis of no length counts as one: products of the others must not overflow either.
  int64_t bytes = dtype_size;
  bool overflow = false;
  for (int64_t dim : dims) {
    if (dim < 0)
      return model_error({"dimension ", dim}, "dimensions of zero or more", where, "check the shape");
    const auto product = base::checked_mul(bytes, std::max<int64_t>(dim, 1));
    // The text of the shape is made after the loop: it needs all sizes, and none may be negative.
    if (!product || *product > base::kMaxTensorBytes)
      overflow = true;
    else
      bytes = *product;
  }
  const Shape shape(dims);
  if (overflow)
    return resource_error({"tensor of shape ", shape.text()}, {"at most ", base::kMaxTensorBytes, " bytes"},
                          where, "check the shape or process the data in parts")
        .of_kind(base::ErrorKind::no_memory);
  return shape;
}

Status Shape::check(int64_t dtype_size, const std::string& where) const {
  const Shape numbers = plain();
  return checked(numbers.dims(), dtype_size, where).status();
}

namespace {
// Shapes on their way to checked() may have any sizes: what cannot
// be counted is the largest number, which every limit refuses.
int64_t saturating_mul(int64_t a, int64_t b) {
  return base::checked_mul(a, b).value_or(std::numeric_limits<int64_t>::max());
}
}  // namespace

int64_t Shape::product(int from, int to) const {
  if (symbolic_) [[unlikely]]
    pin(from, to);
  int64_t out = 1;
  for (int i = from; i < to; ++i) out = saturating_mul(out, dims_[i]);
  return out;
}

Dim Shape::dim_product(int from, int to) const {
  if (!symbolic_) return product(from, to);
  Dim out = 1;
  for (int i = from; i < to; ++i) out *= dim(i);
  return out;
}

Shape Shape::sub(int from, int to) const {
  Shape out;
  for (int i = from; i < to; ++i) out.push_back(dim(i));
  return out;
}

Shape Shape::plain() const {
  Shape out = *this;
  out.terms_ = {};
  out.symbolic_ = false;
  return out;
}

void Shape::pin(int from, int to) const {
  for (int i = from; i < to; ++i) Dim::pin(dim(i));
}

void Shape::forget(int axis) {
  pin(axis, axis + 1);
  terms_[axis] = 0;
  symbolic_ = has_terms();
}

bool Shape::has_terms() const {
  return std::ranges::any_of(terms_, [](Dim::Term t) { return t != 0; });
}

Shape Shape::strides() const {
  Shape out = *this;
  if (symbolic_) {
    Dim step = 1;
    for (int i = rank_ - 1; i >= 0; --i) {
      out.set(i, step);
      step *= dim(i);
    }
    return out;
  }
  int64_t step = 1;
  for (int i = rank_ - 1; i >= 0; --i) {
    out[i] = step;
    step = saturating_mul(step, (*this)[i]);
  }
  return out;
}

bool Shape::operator==(const Shape& other) const {
  if (rank_ != other.rank_) return false;
  // Asked before every run, of every input.
  if (!symbolic_ && !other.symbolic_) return dims_ == other.dims_;
  for (int i = 0; i < rank_; ++i)
    if (dim(i) != other.dim(i)) return false;
  return true;
}

std::string Shape::text() const {
  std::string out = "[";
  for (int i = 0; i < rank_; ++i) out += (i ? ", " : "") + std::to_string(dims_[i]);
  return out + "]";
}

Result<Shape> broadcast(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  Shape out;
  // From the right, as NumPy: missing leading axes count as 1.
  for (int i = 0; i < rank; ++i) {
    const int ia = i - (rank - a.rank());
    const int ib = i - (rank - b.rank());
    const Dim da = ia < 0 ? Dim(1) : a.dim(ia);
    const Dim db = ib < 0 ? Dim(1) : b.dim(ib);
    if (da != db && da != 1 && db != 1)
      return model_error({"shapes ", a.text(), " and ", b.text()},
                         "shapes that broadcast (equal or 1 on each axis from the right)", {"axis ", i},
                         "insert a reshape or fix the input shape");
    // 1 against 0 gives 0: an empty axis stays empty, as NumPy has it.
    out.push_back(da == 1 ? db : da);
  }
  return out;
}

Result<int> normalize_axis(int64_t axis, int rank, const char* what) {
  if (axis < -rank || axis >= rank)
    return model_error({what, " ", axis}, {"a value in [", -rank, ", ", rank - 1, "] for rank ", rank}, what,
                       "correct the attribute");
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace walle::tensor
