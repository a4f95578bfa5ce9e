#include "ops/composite/resize_taps.h"

#include <algorithm>
#include <cmath>

namespace walle::ops {

Status check_rule(const ResizeRule& rule) {
  const auto one_of = [](const std::string& given, std::initializer_list<const char*> known,
                         const char* attribute) -> Status {
    std::string list;
    for (const char* k : known) {
      if (given == k) return {};
      list += (list.empty() ? "" : ", ") + std::string(k);
    }
    return model_error({attribute, " \"", given, "\""}, list, {"attribute ", attribute},
                       "choose a known value");
  };
  WALLE_TRY(one_of(rule.mode, {"nearest", "linear", "cubic"}, "mode"));
  WALLE_TRY(
      one_of(rule.nearest, {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}, "nearest_mode"));
  return one_of(rule.coordinates,
                {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
                 "tf_half_pixel_for_nn", "tf_crop_and_resize"},
                "coordinate_transformation_mode");
}

namespace {
// Where output j lies on the input axis. Nearest rounds ties, so the order of these operations shows in
// results, and so does F: there it is float32, in which PyTorch's exporter and both peers compute
// (docs/adr/0028-resize-in-float32.md).
template <class F>
F source_position(const ResizeRule& r, int64_t in, int64_t out, F scale, F roi_begin, F roi_end, F j) {
  const auto n = static_cast<F>(in);
  const F length = scale * n;  // the output length before rounding
  if (r.coordinates == "asymmetric") return j / scale;
  // The guard against 0 / 0, as ONNX's reference has it.
  if (r.coordinates == "align_corners") return length == 1 ? 0 : j * (n - 1) / (length - 1);
  // As ONNX's reference computes it, where its text says 0: both read element 0.
  if (r.coordinates == "pytorch_half_pixel" && length == 1) return F(-0.5);
  // What Keras' nearest upsampling is: without the shift back to the element's middle.
  if (r.coordinates == "tf_half_pixel_for_nn") return (j + F(0.5)) / scale;
  if (r.coordinates == "tf_crop_and_resize") {
    const F span = roi_end - roi_begin;
    return (length == 1 ? span * (n - 1) / 2 : j * span * (n - 1) / (length - 1)) + roi_begin * (n - 1);
  }
  const bool symmetric = r.coordinates == "half_pixel_symmetric";
  const F shift = symmetric ? n / 2 * (1 - static_cast<F>(out) / length) : 0;
  return shift + (j + F(0.5)) / scale - F(0.5);
}

// Keys (1981), "Cubic convolution interpolation for digital image processing".
double cubic(double x, double a) {
  // Pieces for distances up to 1 and up to 2; the kernel is even and 0 beyond.
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

bool goes_up(const std::string& rule, double ratio) {
  if (rule == "floor") return ratio >= 1;
  if (rule == "ceil") return true;
  // "round_prefer_floor", the default, sends 0.5 down and "round_prefer_ceil" up.
  return rule == "round_prefer_floor" ? ratio > 0.5 : ratio >= 0.5;
}

// Positions beyond the axis by more than its size carry
// no information; the clamp keeps the conversion defined.
double farthest(int64_t in) { return 2.0 * static_cast<double>(in) + 4; }

int64_t floor_of(double x, int64_t in) {
  const double limit = farthest(in);
  return static_cast<int64_t>(std::floor(std::clamp(std::isnan(x) ? 0.0 : x, -limit, limit)));
}

// How far the kernel reaches to the left of a position, as the (negative) number of its first element.
int64_t first_tap(const ResizeRule& rule, int64_t in, double shrink) {
  const double reach = std::min(rule.mode == "linear" ? 1 / shrink : 2 / shrink, farthest(in));
  // Linear reaches one element to either side, cubic two; antialias stretches both by 1 / scale.
  return static_cast<int64_t>(std::floor(-reach)) + 1;
}

// Below 1 the kernel is wider: downsampling averages.
double shrink_of(const ResizeRule& rule, double scale) { return rule.antialias ? std::min(scale, 1.0) : 1.0; }
}  // namespace

int64_t resize_tap_count(const ResizeRule& rule, int64_t in, double scale) {
  return rule.mode == "nearest" ? 1 : 2 - 2 * first_tap(rule, in, shrink_of(rule, scale));
}

AxisTaps resize_taps(const ResizeRule& rule, int64_t in, int64_t out, double scale, double roi_begin,
                     double roi_end) {
  AxisTaps t;
  const bool nearest = rule.mode == "nearest";
  const bool linear = rule.mode == "linear";
  const double shrink = shrink_of(rule, scale);
  const int64_t first = first_tap(rule, in, shrink);
  t.taps = resize_tap_count(rule, in, scale);
  for (int64_t j = 0; j < out; ++j) {
    const double x =
        nearest
            ? source_position<float>(rule, in, out, static_cast<float>(scale), static_cast<float>(roi_begin),
                                     static_cast<float>(roi_end), static_cast<float>(j))
            : source_position<double>(rule, in, out, scale, roi_begin, roi_end, static_cast<double>(j));
    const bool outside =
        rule.coordinates == "tf_crop_and_resize" && !(x >= 0 && x <= static_cast<double>(in - 1));
    if (outside && t.outside.empty()) t.outside.assign(out, false);
    if (outside) t.outside[j] = true;
    // The fraction is taken in (0, 1]: a position on an element belongs to the interval left of it.
    int64_t left = floor_of(x, in);
    double ratio = x - static_cast<double>(left);
    if (ratio == 0) {
      --left;
      ratio = 1;
    }
    const auto clip = [&](int64_t i) { return static_cast<int32_t>(std::clamp<int64_t>(i, 0, in - 1)); };
    if (nearest) {
      t.index.push_back(clip(left + (ratio == 1 || goes_up(rule.nearest, ratio) ? 1 : 0)));
      continue;
    }
    double sum = 0;
    const size_t row = t.weight.size();
    for (int64_t k = first; k < first + t.taps; ++k) {
      const double distance = (static_cast<double>(k) - ratio) * shrink;
      double w = linear ? std::max(0.0, 1 - std::abs(distance)) : cubic(distance, rule.cubic_a);
      if (rule.exclude_outside && (left + k < 0 || left + k >= in)) w = 0;
      t.index.push_back(clip(left + k));
      t.weight.push_back(w);
      sum += w;
    }
    if (sum != 0 && (rule.antialias || rule.exclude_outside))
      for (size_t i = row; i < t.weight.size(); ++i) t.weight[i] /= sum;
  }
  if (nearest) t.weight.clear();
  return t;
}

}  // namespace walle::ops
