#include "ops/rules/window.h"

#include <algorithm>

namespace walle::ops {

namespace {
enum class AutoPad { none, same_upper, same_lower, valid };

Result<AutoPad> auto_pad(const ir::Attributes& attrs) {
  const std::string text = attrs.get_string("auto_pad", "NOTSET");
  // Exporters write the empty string for the default.
  if (text == "NOTSET" || text.empty()) return AutoPad::none;
  if (text == "SAME_UPPER") return AutoPad::same_upper;
  if (text == "SAME_LOWER") return AutoPad::same_lower;
  if (text == "VALID") return AutoPad::valid;
  return model_error({"auto_pad \"", text, "\""}, "NOTSET, SAME_UPPER, SAME_LOWER or VALID",
                     "attribute auto_pad", "correct auto_pad");
}

// Output size of one axis with explicit padding. With ceil_mode the
// last window must still start inside the input or its leading padding.
Dim padded_size(Dim in, int64_t begin, int64_t end, int64_t extent, int64_t stride, bool ceil_mode) {
  const Dim room = in + begin + end - extent;
  // Also keeps the division from rounding a negative number up to one output.
  if (room < 0) return 0;
  Dim out = room / stride + 1;
  // The exception is PyTorch's rule, which ONNX took over: a window that starts in the trailing padding holds
  // no input.
  if (ceil_mode && room % stride != 0 && out * stride < in + begin) ++out;
  return out;
}

// Axis i padded so that one output stands for every `stride` inputs.
void pad_to_same(Window& w, int i, int64_t in, AutoPad mode) {
  // ceil(in / stride): TensorFlow's SAME, from which auto_pad comes.
  w.out.push_back((in + w.stride[i] - 1) / w.stride[i]);
  const int64_t total = std::max<int64_t>((w.out[i] - 1) * w.stride[i] + w.extent(i) - in, 0);
  // An odd element goes to the end for SAME_UPPER, to the beginning for SAME_LOWER.
  w.pad_begin[i] = mode == AutoPad::same_upper ? total / 2 : total - total / 2;
  w.pad_end[i] = total - w.pad_begin[i];
}

Error window_too_large(const Window& w, int i, int64_t in) {
  return model_error(
      {"spatial axis ", i, " of size ", in, " with padding ", w.pad_begin[i], " + ", w.pad_end[i]},
      {"at least the window's extent of ", w.extent(i)}, "input X", "use a larger input or more padding");
}
}  // namespace

int64_t Window::taps() const {
  int64_t n = 1;
  for (int64_t k : kernel) n *= k;
  return n;
}

std::vector<int64_t> Window::pads() const {
  std::vector<int64_t> both = pad_begin;
  both.insert(both.end(), pad_end.begin(), pad_end.end());
  return both;
}

void Window::insert_axis() {
  for (std::vector<int64_t>* one : {&kernel, &stride, &dilation}) one->insert(one->begin(), 1);
  for (std::vector<int64_t>* none : {&pad_begin, &pad_end}) none->insert(none->begin(), 0);
  out.insert(out.begin(), Dim(1));
}

void Window::write(ir::Attributes& attributes) const {
  attributes.erase("auto_pad");
  attributes.set("kernel_shape", kernel);
  attributes.set("strides", stride);
  attributes.set("dilations", dilation);
  attributes.set("pads", pads());
}

Result<std::vector<int64_t>> spatial_list(const ir::Attributes& attrs, const char* name, size_t count,
                                          int64_t low, int64_t fallback) {
  std::vector<int64_t> values = attrs.get_ints(name);
  if (values.empty()) return std::vector<int64_t>(count, fallback);
  if (values.size() != count)
    return model_error({name, " with ", values.size(), " entries"}, {count, " entries"}, {"attribute ", name},
                       "give one entry per spatial axis (two for pads)");
  for (int64_t v : values)
    if (v < low || v > kMaxWindowEntry)
      return model_error({name, " of ", v}, {"values from ", low, " to 2^31 - 1"}, {"attribute ", name},
                         {"correct ", name});
  return values;
}

Result<Window> resolve_window(const ir::Attributes& attrs, const Shape& x,
                              const std::vector<int64_t>& kernel) {
  if (x.rank() < 3)
    return model_error({"an input of shape ", x.text()}, "batch, channels and at least one spatial axis",
                       "input X", "reshape the input");
  const size_t n = x.rank() - 2;
  Window w;
  WALLE_ASSIGN(w.kernel, spatial_list(attrs, "kernel_shape", n, 1, 0));
  // Conv may leave it out: the weights have it.
  if (!attrs.has("kernel_shape") || attrs.get_ints("kernel_shape").empty()) w.kernel = kernel;
  if (w.kernel.size() != n ||
      std::ranges::any_of(w.kernel, [](int64_t k) { return k < 1 || k > kMaxWindowEntry; }))
    return model_error("no usable kernel size", "a positive kernel size per spatial axis",
                       "attribute kernel_shape", "set kernel_shape");
  WALLE_ASSIGN(w.stride, spatial_list(attrs, "strides", n, 1, 1));
  WALLE_ASSIGN(w.dilation, spatial_list(attrs, "dilations", n, 1, 1));
  WALLE_ASSIGN(const std::vector<int64_t> pads, spatial_list(attrs, "pads", 2 * n, 0, 0));
  WALLE_ASSIGN(const AutoPad mode, auto_pad(attrs));
  const bool ceil_mode = attrs.get_int("ceil_mode", 0) != 0;
  w.pad_begin.assign(n, 0);
  w.pad_end.assign(n, 0);
  int64_t taps = 1;
  for (int i = 0; i < w.rank(); ++i) {
    // All taps together: each becomes a region or a row of a product.
    if (__builtin_mul_overflow(taps, w.kernel[i], &taps) || taps > kMaxWindowEntry)
      return model_error("a kernel of more than 2^31 elements", "a smaller kernel", "attribute kernel_shape",
                         "correct kernel_shape");
    const Dim in = x.dim(i + 2);
    if (mode == AutoPad::same_upper || mode == AutoPad::same_lower) {
      pad_to_same(w, i, in, mode);
      continue;
    }
    if (mode == AutoPad::none) {
      w.pad_begin[i] = pads[i];
      w.pad_end[i] = pads[n + i];
    }
    w.out.push_back(padded_size(in, w.pad_begin[i], w.pad_end[i], w.extent(i), w.stride[i], ceil_mode));
    // An empty input gives an empty output; a window that does not fit is a mistake.
    if (w.out[i] == 0 && in != 0) return window_too_large(w, i, in);
  }
  return w;
}

bool canonical_window(const ir::Attributes& attrs, const Shape& x) {
  const auto entries = [&](const char* name) { return attrs.get_ints(name).size(); };
  return x.rank() == 4 && !attrs.has("auto_pad") && entries("kernel_shape") == 2 && entries("strides") == 2 &&
         entries("dilations") == 2 && entries("pads") == 4;
}

ir::Attributes spreading(const Window& window, const Shape& in, const Shape& out) {
  Window w = window;
  std::vector<int64_t> extra;
  for (int i = 0; i < w.rank(); ++i) {
    // Elements behind the last window's end that the input has (or, below 0, has not: padding, ceil_mode).
    const int64_t reached = (out[i + 2] - 1) * w.stride[i] + w.extent(i);
    const int64_t left = in[i + 2] + w.pad_begin[i] - reached;
    w.pad_end[i] = std::max<int64_t>(-left, 0);
    extra.push_back(std::max<int64_t>(left, 0));
  }
  ir::Attributes a{{"output_padding", std::move(extra)}};
  w.write(a);
  return a;
}

Span inside(int64_t size, int64_t out, int64_t stride, int64_t tap_offset, int64_t pad) {
  const int64_t shift = tap_offset - pad;  // input index = o * stride + shift
  Span s;
  s.first = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
  // C++ rounds towards zero, so a negative numerator is asked for first.
  s.last = size - 1 - shift < 0 ? 0 : std::min(out, (size - 1 - shift) / stride + 1);
  return s;
}

}  // namespace walle::ops
