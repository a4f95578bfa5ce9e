#include "ops/composite/transposed_window.h"

#include <algorithm>

namespace walle::ops {

namespace {
Error wrong_size(int64_t size, size_t axis) {
  return model_error({"an output size of ", size, " on spatial axis ", axis}, "1 to 2^31 - 1",
                     "ConvTranspose", "use less padding or correct output_shape");
}

// The spatial sizes of output_shape; empty when it is not given.
Result<std::vector<int64_t>> wanted_sizes(const ir::Attributes& attrs, size_t n) {
  std::vector<int64_t> wanted = attrs.get_ints("output_shape");
  // Some exporters give the whole shape.
  if (wanted.size() > n && wanted.size() - n == 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
  if (!wanted.empty() && wanted.size() != n)
    return model_error({"output_shape with ", wanted.size(), " entries"}, n, "attribute output_shape",
                       "give the spatial sizes");
  return wanted;
}

}  // namespace

Result<Window> transposed_window(const ir::Attributes& attrs, const Shape& x, const Shape& w) {
  const size_t n = x.rank() - 2;
  Window win;
  // Weights are [C, M / group, ...]: the spatial sizes follow two axes, as for Conv.
  win.kernel.assign(w.begin() + 2, w.end());
  const std::vector<int64_t> stated = attrs.get_ints("kernel_shape");
  if (!stated.empty() && stated != win.kernel)
    return model_error({"kernel_shape that differs from W", w.text()}, "the spatial sizes of W",
                       "attribute kernel_shape", "drop kernel_shape");
  WALLE_ASSIGN(win.stride, spatial_list(attrs, "strides", n, 1, 1));
  WALLE_ASSIGN(win.dilation, spatial_list(attrs, "dilations", n, 1, 1));
  WALLE_ASSIGN(const std::vector<int64_t> pads, spatial_list(attrs, "pads", 2 * n, 0, 0));
  WALLE_ASSIGN(const std::vector<int64_t> extra, spatial_list(attrs, "output_padding", n, 0, 0));
  WALLE_ASSIGN(const std::vector<int64_t> wanted, wanted_sizes(attrs, n));
  const std::string mode = attrs.get_string("auto_pad", "NOTSET");
  const bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  if (!same && mode != "NOTSET" && mode != "VALID" && !mode.empty())
    return model_error({"auto_pad \"", mode, "\""}, "NOTSET, SAME_UPPER, SAME_LOWER or VALID",
                       "attribute auto_pad", "correct auto_pad");
  win.pad_begin.assign(n, 0);
  win.pad_end.assign(n, 0);
  for (size_t i = 0; i < n; ++i) {
    const int64_t in = x[static_cast<int>(i) + 2];
    if (win.kernel[i] < 1 || win.kernel[i] > kMaxWindowEntry || in > kMaxWindowEntry)
      return model_error({"X", x.text(), " and W", w.text()}, "axes below 2^31 and a kernel of at least one",
                         "ConvTranspose", "check the shapes");
    // What the taps reach without any padding taken off (the formula of ONNX ConvTranspose).
    const int64_t full = win.stride[i] * (in - 1) + extra[i] + win.extent(static_cast<int>(i));
    if (!wanted.empty() || same) {
      const int64_t size = wanted.empty() ? in * win.stride[i] : wanted[i];
      if (size < 1 || size > kMaxWindowEntry) return wrong_size(size, i);
      // A wanted size beyond `full` is filled with zeros at the end, not cut.
      const int64_t total = std::max<int64_t>(full - size, 0);
      // The odd element at the end for SAME_UPPER only, and at the beginning for output_shape alone (ONNX).
      win.pad_begin[i] = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
      win.pad_end[i] = total - win.pad_begin[i];
      win.out.push_back(size);
    } else {
      if (mode != "VALID") {
        win.pad_begin[i] = pads[i];
        win.pad_end[i] = pads[i + n];
      }
      win.out.push_back(full - win.pad_begin[i] - win.pad_end[i]);
    }
    if (win.out[i] < 1 || win.out[i] > kMaxWindowEntry) return wrong_size(win.out[i], i);
  }
  return win;
}

}  // namespace walle::ops
