// DepthToSpace and SpaceToDepth: blocks of channels to blocks of pixels and back. One region of six axes; the
// second is the first with source and destination exchanged.
#include <array>
#include <limits>
#include <optional>

#include "base/checked.h"
#include "ops/rules/movement.h"

namespace walle::ops {

namespace {
constexpr int64_t kMaxBlock = int64_t{1} << 20;  // its square must not overflow when it multiplies channels

Result<int64_t> block_size(const ir::Attributes& attrs, const Shape& in) {
  const int64_t block = attrs.get_int("blocksize", 0);
  if (in.rank() != 4 || block < 1 || block > kMaxBlock)
    return model_error({"blocksize ", block, " on ", in.text()}, "a positive blocksize and data [N, C, H, W]",
                       "attribute blocksize", "correct them");
  return block;
}

// A size that overflows stands for the largest number, which checked() refuses with the shape in its message.
Status output(ir::InferContext& c, const std::array<std::optional<Dim>, 4>& sizes) {
  std::array<Dim, 4> dims{};
  for (size_t i = 0; i < dims.size(); ++i) dims[i] = sizes[i].value_or(std::numeric_limits<int64_t>::max());
  WALLE_ASSIGN(const Shape out, checked_shape(dims, c.dtype(0), "attribute blocksize"));
  c.output(0, c.dtype(0), out);
  return {};
}

Status infer_to_space(ir::InferContext& c) {
  const Shape& in = c.shape(0);
  WALLE_ASSIGN(const int64_t b, block_size(c.attrs(), in));
  const std::string mode = c.attrs().get_string("mode", "DCR");
  // DCR takes the depth first (TensorFlow's order, the default), CRD the columns first (PyTorch's
  // PixelShuffle).
  if (in.dim(1) % (b * b) != 0 || (mode != "DCR" && mode != "CRD"))
    return model_error({in.dim(1).value(), " channels, mode ", mode},
                       {"a multiple of ", b * b, ", mode DCR or CRD"}, "DepthToSpace",
                       "correct the blocksize");
  return output(c, {in.dim(0), in.dim(1) / (b * b), raster::checked_mul(in.dim(2), b),
                    raster::checked_mul(in.dim(3), b)});
}

Status infer_to_depth(ir::InferContext& c) {
  const Shape& in = c.shape(0);
  WALLE_ASSIGN(const int64_t b, block_size(c.attrs(), in));
  const std::string mode = c.attrs().get_string("mode", "DCR");
  if (in.dim(2) % b != 0 || in.dim(3) % b != 0 || (mode != "DCR" && mode != "CRD"))
    return model_error({"pixels ", in.text(), ", mode ", mode},
                       {"height and width in multiples of ", b, ", mode DCR or CRD"}, "SpaceToDepth",
                       "pad the data");
  return output(c, {in.dim(0), raster::checked_mul(in.dim(1), b * b), in.dim(2) / b, in.dim(3) / b});
}

// From deep [N, C*b*b, H, W] to wide [N, C, H*b, W*b].
raster::Region to_space(const Shape& deep, const Shape& wide, int64_t b, bool crd) {
  const Shape ds = deep.strides();
  const Shape ws = wide.strides();
  // Where the depth and the two coordinates within a block lie in the channels: DCR has [b, b, C], CRD
  // [C, b, b].
  const Dim one = ds.dim(1);
  const Dim channel = crd ? one * b * b : one;
  const Dim row = crd ? one * b : one * b * wide.dim(1);
  const Dim column = crd ? one : one * wide.dim(1);
  return raster::strided_box(
      0, Shape::of({deep.dim(0), wide.dim(1), deep.dim(2), b, deep.dim(3), b}), 0,
      Shape::of({ds.dim(0), channel, ds.dim(2), row, ds.dim(3), column}), 0,
      Shape::of({ws.dim(0), ws.dim(1), ws.dim(2) * b, ws.dim(2), ws.dim(3) * b, ws.dim(3)}));
}

Status lower_to_space(LowerContext& c) {
  raster::Raster r;
  r.regions.push_back(to_space(c.shape(c.in(0)), c.out_shape(0), c.attrs().get_int("blocksize", 1),
                               c.attrs().get_string("mode", "DCR") == "CRD"));
  result_raster(c, std::move(r));
  return {};
}

Status lower_to_depth(LowerContext& c) {
  raster::Region region = to_space(c.out_shape(0), c.shape(c.in(0)), c.attrs().get_int("blocksize", 1),
                                   c.attrs().get_string("mode", "DCR") == "CRD");
  std::swap(region.src, region.dst);
  raster::Raster r;
  r.regions.push_back(region);
  result_raster(c, std::move(r));
  return {};
}

constexpr std::array kRows{
    ir::OpDef{.name = "DepthToSpace",
              .op_class = ir::OpClass::transform,
              .infer = infer_to_space,
              .lower = lower_to_space},
    ir::OpDef{.name = "SpaceToDepth",
              .op_class = ir::OpClass::transform,
              .infer = infer_to_depth,
              .lower = lower_to_depth},
};
}  // namespace

extern const std::span<const ir::OpDef> kDepthToSpaceOps = kRows;

}  // namespace walle::ops
