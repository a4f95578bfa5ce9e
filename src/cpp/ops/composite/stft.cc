// STFT: overlapping frames (one strided view), times the window, then a DFT of each frame.
#include <algorithm>

#include "ops/rules/views.h"

namespace walle::ops {

namespace {
struct Frames {
  int64_t step = 0;
  int64_t length = 0;
  int64_t count = 0;
};

Result<Frames> frames_of(const Shape& signal, const std::vector<int64_t>& step,
                         const std::vector<int64_t>& length, const Shape* window) {
  const auto wrong = [](Text given, Text expected) {
    return model_error(given, expected, "STFT", "check the node's inputs");
  };
  if (signal.rank() != 3 || (signal[2] != 1 && signal[2] != 2))
    return wrong({"signal of shape ", signal.text()}, "[batch, n, 1 or 2]");
  Frames f;
  if (step.size() != 1 || length.size() > 1)
    return wrong("frame_step or frame_length of several numbers", "scalars");
  f.step = step[0];
  // frame_length may be left out when there is a window (ONNX STFT).
  f.length = !length.empty() ? length[0] : (window ? window->elements() : 0);
  if (f.step < 1 || f.length < 1 || f.length > signal[1])
    return wrong({"frame_step ", f.step, ", frame_length ", f.length},
                 {"a positive step and a length from 1 to ", signal[1]});
  if (window && (window->rank() != 1 || (*window)[0] != f.length))
    return wrong({"window of shape ", window->text()}, "frame_length elements");
  // Whole frames only; what is left at the end is dropped, as in ONNX (no centring, no padding).
  f.count = (signal[1] - f.length) / f.step + 1;
  f.step = std::min(f.step, signal[1]);  // a longer one makes one frame all the same
  // Overlapping frames are larger together than the signal.
  const int64_t framed[] = {signal[0], f.count, f.length, 2};
  WALLE_TRY(Shape::checked(framed, tensor::kMaxDTypeSize, "STFT, all frames"));
  return f;
}

bool onesided(const ir::Attributes& attrs, const Shape& signal) {
  // A complex signal's spectrum has no redundant half.
  return attrs.get_int("onesided", 1) != 0 && signal.back() == 1;
}

Status infer(ir::InferContext& c) {
  WALLE_ASSIGN(const std::vector<int64_t> step, c.need_i64(1));
  std::vector<int64_t> length;
  if (c.has(3)) {
    WALLE_ASSIGN(length, c.need_i64(3));
  }
  const Shape& x = c.shape(0);
  WALLE_ASSIGN(const Frames f, frames_of(x, step, length, c.has(2) ? &c.shape(2) : nullptr));
  c.output(0, c.dtype(0), Shape{x[0], f.count, onesided(c.attrs(), x) ? f.length / 2 + 1 : f.length, 2});
  return {};
}

Status lower(LowerContext& c) {
  const Ref x = c.in(0);
  const Shape in = c.shape(x);
  WALLE_ASSIGN(const std::vector<int64_t> step, c.constant(c.in(1))->to_i64());
  std::vector<int64_t> length;
  if (const Tensor* t = c.constant(c.in(3))) {
    WALLE_ASSIGN(length, t->to_i64());
  }
  const Shape window = c.shape(c.in(2));
  WALLE_ASSIGN(const Frames f, frames_of(in, step, length, c.has(2) ? &window : nullptr));
  const int64_t stride[] = {in[1] * in[2], f.step * in[2], in[2], 1};
  Ref framed = strided_view(c, x, Shape{in[0], f.count, f.length, in[2]}, stride);
  if (c.has(2)) framed = c.mul(framed, c.reshape(c.cast(c.in(2), c.dtype(x)), Shape{f.length, 1}));
  // Axis 2 of [batch, frames, length, parts].
  c.result(0, c.emit("DFT", {framed, kNoRef, c.reshape(c.ints({2}), Shape{})},
                     {{"onesided", int64_t{onesided(c.attrs(), in)}}}));
  return {};
}
}  // namespace

extern const ir::OpDef kSTFTOp{.name = "STFT",
                               .op_class = ir::OpClass::composite,
                               .inputs = {2, 4},
                               .infer = infer,
                               .lower = lower,
                               .numeric = ir::NumericClass::accumulation};

}  // namespace walle::ops
