// BatchNormalization. Inference folds the statistics into one scale and one offset per channel; training mode
// takes the batch's statistics and gives the running ones as further results.
#include "ops/rules/infer.h"
#include "ops/rules/views.h"

namespace walle::ops {

namespace {
bool training(const ir::Attributes& attrs) { return attrs.get_int("training_mode", 0) != 0; }

Status infer(ir::InferContext& c) {
  const Shape& x = c.shape(0);
  // ONNX 15: data of rank 1 is a batch of one channel.
  const int64_t channels = x.rank() > 1 ? x[1] : 1;
  for (int i = 1; i < 5; ++i)
    if (c.shape(i).elements() != channels)
      return model_error({"shape ", c.shape(i).text()}, {channels, " elements, one per channel"},
                         {"BatchNormalization input ", i}, "check the parameters");
  c.output(0, c.dtype(0), x);
  // Statistics may have another dtype than X (opset 14): a float16 model keeps them in float32.
  c.output(1, c.dtype(3), c.shape(3));
  c.output(2, c.dtype(4), c.shape(4));
  return {};
}

// (x - mean) / sqrt(variance + epsilon) * scale + bias as x * a + b.
Ref normalized(LowerContext& c, Ref x, Ref mean, Ref variance) {
  const DType dtype = c.dtype(x);
  const int rank = c.shape(x).rank();
  // Here and below the defaults of ONNX.
  const Ref epsilon = c.scalar(dtype, c.attrs().get_float("epsilon", 1e-5));
  const auto operand = [&](Ref r) { return along_axis(c, c.cast(r, dtype), 1, rank); };
  // a and b are constants of a trained model, so what is left is one multiply and one add per element, which
  // the epilogue pass folds into a convolution.
  const Ref a = c.div(operand(c.in(1)), c.emit("Sqrt", {c.add(operand(variance), epsilon)}));
  const Ref b = c.sub(operand(c.in(2)), c.mul(operand(mean), a));
  return c.add(c.mul(x, a), b);
}

Ref running(LowerContext& c, Ref old, Ref batch) {
  const double momentum = c.attrs().get_float("momentum", 0.9);
  const DType dtype = c.dtype(old);
  return c.add(c.mul(old, c.scalar(dtype, momentum)),
               c.mul(c.cast(c.reshape(batch, c.shape(old)), dtype), c.scalar(dtype, 1 - momentum)));
}

Status lower(LowerContext& c) {
  const Ref x = c.in(0);
  if (!training(c.attrs())) {
    c.result(0, normalized(c, x, c.in(3), c.in(4)));
    // Outside training the running statistics go through unchanged.
    for (int i = 1; i < c.output_count() && i < 3; ++i) c.result(i, c.in(i + 2));
    return {};
  }
  std::vector<int64_t> axes;
  for (int i = 0; i < c.shape(x).rank(); ++i)
    if (i != 1) axes.push_back(i);
  // Over the batch, biased (divided by n), as ONNX defines training mode; PyTorch's running variance is
  // unbiased.
  const Ref mean = c.reduce("ReduceMean", x, axes, true);
  const Ref centred = c.sub(x, mean);
  const Ref variance = c.reduce("ReduceMean", c.mul(centred, centred), axes, true);
  c.result(0, normalized(c, x, mean, variance));
  if (c.output_count() > 1) c.result(1, running(c, c.in(3), mean));
  if (c.output_count() > 2) c.result(2, running(c, c.in(4), variance));
  return {};
}
}  // namespace

extern const ir::OpDef kBatchNormalizationOp{.name = "BatchNormalization",
                                             .op_class = ir::OpClass::composite,
                                             .inputs = {5, 5},
                                             .outputs = {1, 3},
                                             .infer = infer,
                                             .lower = lower,
                                             .numeric = ir::NumericClass::accumulation};

}  // namespace walle::ops
