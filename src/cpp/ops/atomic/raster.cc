// The two movement atoms as op-table rows. They are made by lowering, never by a model file.
#include "ops/program.h"

namespace walle::ops {

namespace {
Status refuse(ir::InferContext&) {
  return model_error("a node of the internal operators raster or loop", "operators of the public table",
                     "model", "use Transpose, Slice, Gather, ...");
}
}  // namespace

extern const ir::OpDef kRaster_Op{
    .name = "raster", .op_class = ir::OpClass::atomic, .inputs = {0, -1}, .infer = refuse};
extern const ir::OpDef kLoop_Op{
    .name = "loop", .op_class = ir::OpClass::atomic, .inputs = {2, 3}, .infer = refuse};

const ir::OpDef& raster_op() { return kRaster_Op; }
const ir::OpDef& loop_op() { return kLoop_Op; }

}  // namespace walle::ops
