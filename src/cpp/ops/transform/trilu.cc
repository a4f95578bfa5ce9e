// Trilu: the upper or lower triangle of every matrix, shifted by k; the rest
// is zero. One region per row; large matrices select with a mask instead,
// because thousands of regions cost more than reading a byte per element.
#include <algorithm>

#include "base/limits.h"
#include "ops/rules/movement.h"

namespace walle::ops {

namespace {
// Of a matrix that becomes regions. As a raster a mask of attention merges with what follows it; each region
// is carried through every merge, though, so that more of them belong into a table.
constexpr int64_t kMaxRows = 256;

// Columns of row i that are kept.
std::pair<int64_t, int64_t> kept(bool upper, int64_t row, int64_t k, int64_t columns) {
  const int64_t edge = std::clamp<int64_t>(row + k + (upper ? 0 : 1), 0, columns);
  return upper ? std::pair{edge, columns} : std::pair{int64_t{0}, edge};
}

// Offsets beyond the corners give the whole matrix or nothing, as the ones at the corners do.
Result<int64_t> diagonal(const std::vector<int64_t>& given, const Shape& in) {
  if (given.size() > 1)
    return model_error({given.size(), " values"}, "one diagonal offset", "input k", "correct k");
  const int64_t limit = in[in.rank() - 1] + in[in.rank() - 2];
  return given.empty() ? 0 : std::clamp(given[0], -limit, limit);
}

Status infer(ir::InferContext& c) {
  if (c.rank(0) < 2)
    return model_error({"data ", c.shape(0).text()}, "matrices (rank 2 or more)", "input 0", "add an axis");
  if (c.has(1)) {
    WALLE_ASSIGN(const std::vector<int64_t> k, c.need_i64(1));
    WALLE_TRY(diagonal(k, c.shape(0).plain()));
  }
  c.output(0, c.dtype(0), c.shape(0));
  return {};
}

Ref masked(LowerContext& c, bool upper, int64_t k, int64_t rows, int64_t columns) {
  if (!c.may_tabulate(rows * columns, kFlagWork)) return kNoRef;
  auto mask = Tensor::zeros(DType::boolean, Shape{rows, columns});
  if (!mask.ok()) {
    c.fail(mask.take_error());
    return kNoRef;
  }
  bool* bits = mask->as_mutable<bool>().data();
  for (int64_t i = 0; i < rows; ++i) {
    const auto [from, to] = kept(upper, i, k, columns);
    std::fill(bits + i * columns + from, bits + i * columns + std::max(from, to), true);
  }
  return c.emit("Where", {c.constant(std::move(*mask)), c.in(0), c.scalar(c.dtype(c.in(0)), 0)});
}

// Of a class of shapes: rows are compared with columns, since neither regions nor a mask are of one size.
Status lower_class(LowerContext& c) {
  const Ref x = c.in(0);
  const Shape& in = c.shape(x);
  const Dim rows = in.dim(in.rank() - 2);
  const Dim columns = in.dim(in.rank() - 1);
  WALLE_ASSIGN(const std::vector<int64_t> given, ints_of(c, 1));
  // Beyond every corner, and far from where the sum with a row would overflow.
  constexpr int64_t kFar = base::kMaxTensorBytes;
  const int64_t k = given.empty() ? 0 : std::clamp(given[0], -kFar, kFar);
  const bool upper = c.attrs().get_int("upper", 1) != 0;
  const Ref row = c.reshape(counted(c, DType::int64, 0, 1, rows), Shape(std::vector<Dim>{rows, 1}));
  const Ref column = counted(c, DType::int64, 0, 1, columns);
  const Ref kept = c.emit(upper ? "GreaterOrEqual" : "LessOrEqual", {column, c.add(row, c.ints({k}))});
  c.result(0, c.emit("Where", {kept, x, c.scalar(c.dtype(x), 0)}));
  return {};
}

Status lower(LowerContext& c) {
  const Shape in = c.shape(c.in(0));
  if (in.dim(in.rank() - 2).symbolic() || in.dim(in.rank() - 1).symbolic()) return lower_class(c);
  const int64_t rows = in[in.rank() - 2];
  const int64_t columns = in[in.rank() - 1];
  const bool upper = c.attrs().get_int("upper", 1) != 0;
  WALLE_ASSIGN(const std::vector<int64_t> given, ints_of(c, 1));
  WALLE_ASSIGN(const int64_t k, diagonal(given, in));
  if (rows > kMaxRows) {
    c.result(0, masked(c, upper, k, rows, columns));
    return {};
  }
  raster::Raster r;
  r.fill = raster::Fill{};
  for (int64_t i = 0; i < rows; ++i) {
    const auto [from, to] = kept(upper, i, k, columns);
    // Rows with nothing kept are zeros by the fill.
    if (from >= to) continue;
    const int64_t size[] = {in.product(0, in.rank() - 2), to - from};
    const int64_t stride[] = {rows * columns, 1};
    r.regions.push_back(
        raster::strided_region(0, size, i * columns + from, stride, i * columns + from, stride));
  }
  result_raster(c, std::move(r));
  return {};
}
}  // namespace

extern const ir::OpDef kTriluOp{
    .name = "Trilu", .op_class = ir::OpClass::transform, .inputs = {1, 2}, .infer = infer, .lower = lower};

}  // namespace walle::ops
