// The two movement atoms as op-table rows. They are made by lowering, never by a model file.
#include "ops/gradient.h"
#include "ops/rules/formula.h"
#include "ops/rules/gather.h"
#include "ops/rules/views.h"
#include "raster/algebra.h"

namespace walle::ops {

namespace {
Status refuse(ir::InferContext&) {
  return model_error("a node of the internal operators raster or loop", "operators of the public table",
                     "model", "use Transpose, Slice, Gather, ...");
}

// The raster with its views exchanged: what was repeated is summed, what was not read gets zero.
Status raster_gradient(GradientContext& c) {
  for (int i = 0; i < c.input_count(); ++i) {
    if (!c.wants(i)) continue;
    raster::Raster back = raster::adjoint(*c.node().raster, i);
    // Rasters add up only in dtypes that arithmetic is done in.
    const bool widened = back.accumulate && tensor::is_half_float(c.out_dtype(i));
    const DType dtype = widened ? DType::float32 : c.out_dtype(i);
    c.result(i, c.cast(c.raster(std::move(back), dtype, c.out_shape(i), {c.cast(c.dy(0), dtype)}),
                       c.out_dtype(i)));
  }
  return {};
}

// The rounds of a loop the other way: what a gather read is written, and what a scatter wrote is read.
raster::LoopSpec turned(const raster::LoopSpec& loop, raster::Combine combine) {
  raster::LoopSpec back = loop;
  std::swap(back.src_step, back.dst_step);
  std::swap(back.body.src, back.body.dst);
  back.index_on_dst = !loop.index_on_dst;
  back.combine = combine;
  back.base = false;
  return back;
}

// Where an update is the last one that its elements got: each writes its number, and finds it there.
Ref stays(GradientContext& c, const raster::LoopSpec& loop) {
  const Shape updates = c.out_shape(0);
  const Ref numbers = c.reshape(iota(c, DType::int64, updates.elements()), updates);
  const Shape written = c.shape(c.dy(0));
  const Ref owners = scatter_loop(c, loop, zeros(c, DType::int64, written), c.in(1), numbers);
  const Ref found = c.loop(turned(loop, raster::Combine::assign), DType::int64, updates, {owners, c.in(1)});
  return c.emit("Equal", {found, numbers});
}

Status scatter_gradient(GradientContext& c, const raster::LoopSpec& loop) {
  const bool replaces = loop.combine == raster::Combine::assign;
  if (!replaces && loop.combine != raster::Combine::add)
    return model_error("a scatter of products, minima or maxima, which has no gradient",
                       "one that adds or replaces", "attribute reduction",
                       "compute it outside of what is differentiated");
  const Ref g = c.dy(0);
  if (c.wants(0)) {
    const Ref read =
        c.loop(turned(loop, raster::Combine::assign), c.out_dtype(0), c.out_shape(0), {g, c.in(1)});
    c.result(0, replaces ? where({c, stays(c, loop)}, {c, read}, 0).ref() : read);
  }
  if (c.wants(2))
    c.result(2, replaces ? scatter_loop(c, loop, g, c.in(1), zeros(c, c.out_dtype(0), c.out_shape(0))) : g);
  return {};
}

Status loop_gradient(GradientContext& c) {
  const raster::LoopSpec& loop = *c.node().loop;
  if (loop.index_on_dst) return scatter_gradient(c, loop);
  c.result(0, scatter_loop(c, turned(loop, raster::Combine::add), zeros(c, c.out_dtype(0), c.out_shape(0)),
                           c.in(1), c.dy(0)));
  return {};
}
}  // namespace

extern const ir::OpDef kRaster_Op{.name = "raster",
                                  .op_class = ir::OpClass::atomic,
                                  .inputs = {0, -1},
                                  .infer = refuse,
                                  .gradient = raster_gradient};
extern const ir::OpDef kLoop_Op{.name = "loop",
                                .op_class = ir::OpClass::atomic,
                                .inputs = {2, 3},
                                .infer = refuse,
                                .gradient = loop_gradient};

const ir::OpDef& raster_op() { return kRaster_Op; }
const ir::OpDef& loop_op() { return kLoop_Op; }

}  // namespace walle::ops
