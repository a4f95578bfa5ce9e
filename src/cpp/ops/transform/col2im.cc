// Col2Im: sliding blocks summed back into an image. An accumulating raster: one region per position within
// the block, clipped where padding was.
#include <algorithm>

#include "base/checked.h"
#include "ops/rules/movement.h"
#include "ops/rules/window.h"

namespace walle::ops {

namespace {
constexpr size_t kMaxAxes = 4;  // spatial ones: a region has room for them, the batch and the channels

struct Blocks {
  std::vector<int64_t> image, block, dilation, stride;  // per spatial axis
  std::vector<int64_t> pad;                             // all begins, then all ends
  std::vector<int64_t> steps{};                         // blocks per axis
  int64_t block_elements = 1;
};

Result<Blocks> blocks_of(const ir::Attributes& attrs, const Shape& in, std::vector<int64_t> image,
                         std::vector<int64_t> block) {
  const size_t n = image.size();
  const auto bad = [&](Text what) {
    return model_error(what, {"positive sizes of ", n, " spatial axes that fit the data ", in.text()},
                       "Col2Im", "correct the attributes");
  };
  Blocks w{.image = std::move(image),
           .block = std::move(block),
           .dilation = attrs.get_ints("dilations", std::vector<int64_t>(n, 1)),
           .stride = attrs.get_ints("strides", std::vector<int64_t>(n, 1)),
           .pad = attrs.get_ints("pads", std::vector<int64_t>(2 * n, 0))};
  if (in.rank() != 3 || n == 0 || n > kMaxAxes || w.block.size() != n || w.dilation.size() != n ||
      w.stride.size() != n || w.pad.size() != 2 * n)
    return bad("lists of different lengths or rank");
  int64_t columns = 1;
  for (size_t i = 0; i < n; ++i) {
    // Each below 2^31, so that no sum or product of two below overflows.
    const auto in_range = [](int64_t v, int64_t low) { return v >= low && v <= kMaxWindowEntry; };
    if (!in_range(w.image[i], 1) || !in_range(w.block[i], 1) || !in_range(w.dilation[i], 1) ||
        !in_range(w.stride[i], 1) || !in_range(w.pad[i], 0) || !in_range(w.pad[n + i], 0))
      return bad("a size out of range");
    const auto reach = base::checked_mul(w.dilation[i], w.block[i] - 1);
    const int64_t room = reach ? w.image[i] + w.pad[i] + w.pad[n + i] - *reach - 1 : -1;
    if (room < 0) return bad("a block larger than the padded image");
    w.steps.push_back(room / w.stride[i] + 1);
    if (__builtin_mul_overflow(columns, w.steps[i], &columns) ||
        __builtin_mul_overflow(w.block_elements, w.block[i], &w.block_elements))
      return bad("sizes that overflow");
  }
  if (in[2] != columns || in[1] % w.block_elements != 0)
    return bad(std::to_string(columns) + " blocks of " + std::to_string(w.block_elements));
  // A region per element of the block.
  if (w.block_elements > base::kMaxRegions)
    return bad("a block of " + std::to_string(w.block_elements) + " elements");
  return w;
}

Status infer(ir::InferContext& c) {
  WALLE_ASSIGN(std::vector<int64_t> image, c.need_i64(1));
  WALLE_ASSIGN(std::vector<int64_t> block, c.need_i64(2));
  WALLE_ASSIGN(const Blocks w, blocks_of(c.attrs(), c.shape(0), std::move(image), std::move(block)));
  std::vector<int64_t> out{c.shape(0)[0], c.shape(0)[1] / w.block_elements};
  out.insert(out.end(), w.image.begin(), w.image.end());
  WALLE_ASSIGN(const Shape shape, Shape::checked(out, dtype_size(c.dtype(0)), "Col2Im"));
  c.output(0, c.dtype(0), shape);
  return {};
}

// The blocks whose element at `position` lies inside the image; false when there are none.
bool clip(const Blocks& w, const std::vector<int64_t>& position, const Shape& in, const Shape& out,
          raster::Region& r) {
  const Shape ss = in.strides();
  const Shape ds = out.strides();
  const size_t n = w.image.size();
  int64_t element = 0;
  r.rank = static_cast<int>(n) + 2;
  r.size[0] = in[0];
  r.size[1] = out[1];
  r.src.stride[0] = ss[0];
  r.src.stride[1] = ss[1] * w.block_elements;
  r.dst.stride[0] = ds[0];
  r.dst.stride[1] = ds[1];
  int64_t step = 1;
  for (size_t i = n; i-- > 0;) {
    const int64_t shift = position[i] * w.dilation[i] - w.pad[i];  // image index of block 0
    const int64_t from = shift < 0 ? base::ceil_div(-shift, w.stride[i]) : 0;
    const int64_t last = w.image[i] - 1 - shift;
    const int64_t to = last < 0 ? 0 : std::min(w.steps[i], last / w.stride[i] + 1);
    if (from >= to) return false;
    r.size[i + 2] = to - from;
    r.src.stride[i + 2] = step;
    r.src.offset += from * step;
    step *= w.steps[i];
    const int64_t ds_i = ds[static_cast<int>(i) + 2];
    r.dst.stride[i + 2] = to - from > 1 ? w.stride[i] * ds_i : 0;  // a step inside the image
    r.dst.offset += (shift + from * w.stride[i]) * ds_i;
  }
  for (size_t i = 0; i < n; ++i) element = element * w.block[i] + position[i];
  r.src.offset += element * ss[1];
  return true;
}

Status lower(LowerContext& c) {
  const DType dtype = c.out_dtype(0);
  // Sums of 16-bit floats are made in float32 and rounded once.
  const bool narrow = tensor::is_half_float(dtype);
  const Ref data = narrow ? c.cast(c.in(0), DType::float32) : c.in(0);
  WALLE_ASSIGN(std::vector<int64_t> image, ints_of(c, 1));
  WALLE_ASSIGN(std::vector<int64_t> block, ints_of(c, 2));
  const Shape in = c.shape(c.in(0));
  const Shape out = c.out_shape(0);
  WALLE_ASSIGN(const Blocks w, blocks_of(c.attrs(), in, std::move(image), std::move(block)));
  raster::Raster r;
  r.fill = raster::Fill{};
  // Always, though blocks that do not overlap could be copied: Col2Im is for overlapping ones.
  r.accumulate = true;
  std::vector<int64_t> position(w.block.size(), 0);
  for (int64_t k = 0; k < w.block_elements; ++k) {
    raster::Region region;
    if (clip(w, position, in, out, region)) r.regions.push_back(region);
    for (size_t i = position.size(); i-- > 0;) {
      if (++position[i] < w.block[i]) break;
      position[i] = 0;
    }
  }
  const Ref sum = c.raster(std::move(r), narrow ? DType::float32 : dtype, out, {data});
  c.result(0, narrow ? c.cast(sum, dtype) : sum);
  return {};
}
}  // namespace

extern const ir::OpDef kCol2ImOp{.name = "Col2Im",
                                 .op_class = ir::OpClass::transform,
                                 .inputs = {3, 3},
                                 .infer = infer,
                                 .lower = lower,
                                 .numeric = ir::NumericClass::accumulation};

}  // namespace walle::ops
