// ReverseSequence: the first sequence_lens[b] steps of every batch entry backwards, the rest as they are.
#include "ops/rules/movement.h"

namespace walle::ops {

namespace {
Status infer(ir::InferContext& c) {
  const Shape& in = c.shape(0);
  const int64_t batch = c.attrs().get_int("batch_axis", 1);
  const int64_t time = c.attrs().get_int("time_axis", 0);
  // ONNX allows these two orders only (opset 10).
  if (in.rank() < 2 || batch == time || batch < 0 || batch > 1 || time < 0 || time > 1)
    return model_error({"batch_axis ", batch, " and time_axis ", time, " on ", in.text()},
                       "axes 0 and 1 in one or the other order, rank 2 or more", "attributes",
                       "correct the axes");
  // Each length is a region of its own, so their values are needed before anything is lowered.
  WALLE_ASSIGN(const std::vector<int64_t> lens, c.need_i64(1));
  if (static_cast<int64_t>(lens.size()) != in[static_cast<int>(batch)])
    return model_error({lens.size(), " lengths for ", in.text()}, "one length per batch entry",
                       "input sequence_lens", "correct them");
  for (int64_t n : lens)
    if (n < 0 || n > in[static_cast<int>(time)])
      return model_error({"length ", n}, {"0 to ", in[static_cast<int>(time)]}, "input sequence_lens",
                         "correct it");
  c.output(0, c.dtype(0), in);
  return {};
}

Status lower(LowerContext& c) {
  const Shape in = c.shape(c.in(0));
  const auto batch = static_cast<int>(c.attrs().get_int("batch_axis", 1));
  const int time = 1 - batch;
  WALLE_ASSIGN(const std::vector<int64_t> lens, ints_of(c, 1));
  // Two regions per entry, counted before they are made.
  if (std::ssize(lens) > base::kMaxRegions / 2)
    return resource_error({lens.size(), " sequences"}, {"at most ", base::kMaxRegions / 2}, "ReverseSequence",
                          "reverse smaller batches");
  const std::vector<Dim> zeros(in.rank(), 0);
  const std::vector<Dim> ones(in.rank(), 1);
  raster::Raster r;
  for (size_t b = 0; b < lens.size(); ++b) {
    Shape size = in;
    size[batch] = 1;
    std::vector<Dim> from = zeros;
    from[batch] = static_cast<int64_t>(b);
    std::vector<Dim> to = from;
    if (lens[b] > 0) {
      size[time] = lens[b];
      std::vector<Dim> step = ones;
      from[time] = lens[b] - 1;
      step[time] = -1;
      r.regions.push_back(box_region(0, size, {in, from, step}, {in, to}));
    }
    // The rest of the entry, as it is.
    size[time] = in[time] - lens[b];
    from[time] = lens[b];
    to[time] = lens[b];
    if (size.elements() > 0) r.regions.push_back(box_region(0, size, {in, from}, {in, to}));
  }
  result_raster(c, std::move(r));
  return {};
}
}  // namespace

extern const ir::OpDef kReverseSequenceOp{.name = "ReverseSequence",
                                          .op_class = ir::OpClass::transform,
                                          .inputs = {2, 2},
                                          .infer = infer,
                                          .lower = lower};

}  // namespace walle::ops
