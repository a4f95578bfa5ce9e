// GridSample: X [N, C, spatial...] read at the positions grid [N, out..., n] names
// (last axis first, in [-1, 1]); n is 2 or 3. mode is linear, nearest or cubic
// (bilinear and bicubic are the older names), padding_mode zeros, border or reflection.
#include "ops/lower.h"
#include "ops/rules/infer.h"
#include "tensor/kinds.h"

namespace walle::ops {

namespace {
Status infer(ir::InferContext& c) {
  const Shape& x = c.shape(0);
  const Shape& grid = c.shape(1);
  const int n = x.rank() - 2;
  // ONNX 16 knows two spatial axes, 20 one to three: as many as images, volumes and signals have.
  if (n < 1 || n > 3 || grid.rank() != x.rank() || grid[0] != x[0] || grid.back() != n)
    return model_error({"X", x.text(), " with grid", grid.text()},
                       "X [N, C, spatial...] of one to three spatial axes, grid [N, out..., axes]",
                       "GridSample", "correct the grid's shape");
  if (!tensor::is_float(c.dtype(1)))
    return model_error("a grid of integers", "a float grid", "input grid", "insert a Cast");
  for (int i = 2; i < x.rank(); ++i)
    // Every padding mode but zeros reads some element.
    if (x[i] == 0 && grid.elements() > 0)
      return model_error({"an empty spatial axis in ", x.text()}, "at least one element", "input X",
                         "check the shapes");
  const std::string mode = c.attrs().get_string("mode", "linear");
  const std::string padding = c.attrs().get_string("padding_mode", "zeros");
  if (!tensor::sample_mode(mode))
    return model_error({"mode \"", mode, "\""}, "linear, nearest or cubic", "attribute mode",
                       "choose a known mode");
  if (!tensor::sample_padding(padding))
    return model_error({"padding_mode \"", padding, "\""}, "zeros, border or reflection",
                       "attribute padding_mode", "choose a known padding");
  Shape out{x[0], x[1]};
  for (int i = 1; i <= n; ++i) out.push_back(grid[i]);
  WALLE_ASSIGN(out, Shape::checked(out.dims(), tensor::kMaxDTypeSize, "GridSample"));
  c.output(0, c.dtype(0), out);
  return {};
}

ir::Cost cost(const ir::Attributes&, std::span<const ir::InferInput> in,
              std::span<const ir::InferOutput> out) {
  const auto results = static_cast<double>(out[0].shape.elements());
  constexpr double kOperations = 30;  // four weights, multiplied out, and the sum over them
  return {kOperations * results,
          4 * (results + static_cast<double>(in[0].shape.elements() + in[1].shape.elements()))};
}
}  // namespace

extern const ir::OpDef kGridSampleOp{.name = "GridSample",
                                     .inputs = {2, 2},
                                     .infer = infer,
                                     .cost = cost,
                                     .numeric = ir::NumericClass::accumulation,
                                     .no_gradient = "no kernel spreads samples back"};

}  // namespace walle::ops
