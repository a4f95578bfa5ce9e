#include "kernels/roi/roi.h"

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/parallel.h"

namespace walle::kernels {

namespace {
// Samples per bin and axis: those of one bin, at 64 bytes each, take at most 64 MB.
constexpr double kMaxSamples = 1024;
// Box edges beyond it are far outside any image all the same, and their differences stay small integers.
constexpr double kFarOutside = 1e9;
constexpr int64_t kRoiNumbers = 5;  // of MaxRoiPool: batch index, x1, y1, x2, y2

// A bilinear reading: the four elements around a point.
struct Sample {
  int64_t at[4] = {0, 0, 0, 0};
  double weight[4] = {0, 0, 0, 0};
};

// The two neighbours of a coordinate and the weight of the second.
bool neighbours(double v, int64_t size, int64_t& low, int64_t& high, double& fraction) {
  // One element beyond either edge still reads the edge, further ones nothing: the rule of Detectron's
  // RoIAlign, which ONNX took over.
  if (!(v >= -1.0 && v <= static_cast<double>(size))) return false;  // also for NaN
  v = std::max(v, 0.0);
  low = std::min(static_cast<int64_t>(v), size - 1);
  high = std::min(low + 1, size - 1);
  fraction = low == size - 1 ? 0.0 : v - static_cast<double>(low);
  return true;
}

Sample sample_at(const Roi& s, double y, double x) {
  Sample r;
  int64_t y0, y1, x0, x1;
  double fy, fx;
  if (!neighbours(y, s.height, y0, y1, fy) || !neighbours(x, s.width, x0, x1, fx)) return r;
  const int64_t at[4] = {y0 * s.width + x0, y0 * s.width + x1, y1 * s.width + x0, y1 * s.width + x1};
  const double weight[4] = {(1 - fy) * (1 - fx), (1 - fy) * fx, fy * (1 - fx), fy * fx};
  for (int i = 0; i < 4; ++i) {
    r.at[i] = at[i];
    r.weight[i] = weight[i];
  }
  return r;
}

// A box of RoiAlign, in elements.
struct Box {
  double top = 0, left = 0, bin_height = 0, bin_width = 0;
  int64_t rows = 1, cols = 1;  // samples per bin
};

template <class T>
Status measure(const Roi& s, const T* roi, Box& b) {
  const double shift = s.half_pixel ? 0.5 : 0.0;
  b.left = static_cast<double>(roi[0]) * s.scale - shift;
  b.top = static_cast<double>(roi[1]) * s.scale - shift;
  double width = static_cast<double>(roi[2]) * s.scale - shift - b.left;
  double height = static_cast<double>(roi[3]) * s.scale - shift - b.top;
  // coordinate_transformation_mode = output_half_pixel, the only behaviour before opset 16: boxes have at
  // least one element. With half_pixel that was dropped, since it moved small boxes.
  if (!s.half_pixel) {
    width = std::max(width, 1.0);
    height = std::max(height, 1.0);
  }
  b.bin_height = height / static_cast<double>(s.out_height);
  b.bin_width = width / static_cast<double>(s.out_width);
  if (s.sampling_ratio > 0) {
    b.rows = b.cols = s.sampling_ratio;
    return {};
  }
  // Written as "not less", so that NaN is refused as well.
  if (!(b.bin_height < kMaxSamples) || !(b.bin_width < kMaxSamples))
    return model_error(
        {"a box of ", width, " x ", height},
        {"finite boxes of at most ", static_cast<int>(kMaxSamples), " elements per bin and axis"},
        "input rois", "check spatial_scale");
  b.rows = std::max<int64_t>(static_cast<int64_t>(std::ceil(b.bin_height)), 0);
  b.cols = std::max<int64_t>(static_cast<int64_t>(std::ceil(b.bin_width)), 0);
  return {};
}

template <class T>
T pool_bin(const Roi& s, const T* plane, const Sample* samples, int64_t count) {
  double result = s.maximum && count > 0 ? -std::numeric_limits<double>::infinity() : 0;
  for (int64_t i = 0; i < count; ++i)
    for (int k = 0; k < 4; ++k) {
      const double v = samples[i].weight[k] * static_cast<double>(plane[samples[i].at[k]]);
      // ONNX's max mode takes the greatest of the weighted corners, not of the interpolated values; that
      // looks like a slip but is what its reference and onnxruntime compute.
      if (s.maximum)
        result = std::max(result, v);
      else
        result += v;
    }
  return static_cast<T>(s.maximum ? result : result / static_cast<double>(std::max<int64_t>(count, 1)));
}

// Where sample i of `count` in a bin lies, in bins.
double centre(int64_t bin, int64_t i, int64_t count) {
  return static_cast<double>(bin) + (static_cast<double>(i) + 0.5) / static_cast<double>(count);
}

template <class T>
void align_box(const Roi& s, const Box& b, const T* x, T* y) {
  // Positions and weights once per bin, then read for every channel: there are hundreds of those.
  std::vector<Sample> samples(b.rows * b.cols);
  for (int64_t ph = 0; ph < s.out_height; ++ph)
    for (int64_t pw = 0; pw < s.out_width; ++pw) {
      for (int64_t i = 0; i < b.rows; ++i)
        for (int64_t j = 0; j < b.cols; ++j)
          samples[i * b.cols + j] = sample_at(s, b.top + centre(ph, i, b.rows) * b.bin_height,
                                              b.left + centre(pw, j, b.cols) * b.bin_width);
      for (int64_t c = 0; c < s.channels; ++c)
        y[(c * s.out_height + ph) * s.out_width + pw] =
            pool_bin(s, x + c * s.height * s.width, samples.data(), static_cast<int64_t>(samples.size()));
    }
}

Status wrong_batch(const std::string& given, int64_t batch) {
  return model_error({"batch index ", given}, {"0 to ", batch - 1}, "boxes", "correct the batch index");
}

// The elements [first, last) that bin `i` covers, clipped to the input.
void bin_range(double start, double size, int64_t i, int64_t limit, int64_t& first, int64_t& last) {
  const double top = static_cast<double>(limit);
  first = static_cast<int64_t>(std::clamp(std::floor(static_cast<double>(i) * size) + start, 0.0, top));
  last = static_cast<int64_t>(std::clamp(std::ceil(static_cast<double>(i + 1) * size) + start, 0.0, top));
}

template <class T>
void max_pool_box(const Roi& s, const T* roi, const T* x, T* y) {
  double edge[4];
  for (int i = 0; i < 4; ++i) {
    // Rounded in T, as the definition does it: halves decide where the box begins.
    const double v = static_cast<double>(std::round(roi[1 + i] * static_cast<T>(s.scale)));
    edge[i] = std::isnan(v) ? 0 : std::clamp(v, -kFarOutside, kFarOutside);
  }
  // Both ends belong to the box, hence the + 1 (Fast R-CNN counted pixels, not coordinates).
  const double bin_height = std::max(edge[3] - edge[1] + 1, 1.0) / static_cast<double>(s.out_height);
  const double bin_width = std::max(edge[2] - edge[0] + 1, 1.0) / static_cast<double>(s.out_width);
  for (int64_t c = 0; c < s.channels; ++c)
    for (int64_t ph = 0; ph < s.out_height; ++ph)
      for (int64_t pw = 0; pw < s.out_width; ++pw) {
        int64_t y0, y1, x0, x1;
        bin_range(edge[1], bin_height, ph, s.height, y0, y1);
        bin_range(edge[0], bin_width, pw, s.width, x0, x1);
        bool any = false;
        T best = 0;
        for (int64_t i = y0; i < y1; ++i)
          for (int64_t j = x0; j < x1; ++j) {
            const T v = x[(c * s.height + i) * s.width + j];
            best = any && !(v > best) ? best : v;
            any = true;
          }
        y[(c * s.out_height + ph) * s.out_width + pw] = best;
      }
}
}  // namespace

Status run_roi_align(const Roi& s, DType dtype, const void* x, const void* rois, const int64_t* batch_indices,
                     void* y, int threads) {
  Status status;
  tensor::visit_float(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::vector<Box> boxes(s.boxes);
    for (int64_t r = 0; r < s.boxes && status.ok(); ++r) {
      if (batch_indices[r] < 0 || batch_indices[r] >= s.batch)
        status = wrong_batch(std::to_string(batch_indices[r]), s.batch);
      if (status.ok()) status = measure(s, static_cast<const T*>(rois) + r * 4, boxes[r]);
    }
    if (!status.ok()) return;
    const int64_t out = s.channels * s.out_height * s.out_width;
    base::parallel_for(s.boxes, threads, [&](int64_t r) {
      align_box(s, boxes[r], static_cast<const T*>(x) + batch_indices[r] * s.channels * s.height * s.width,
                static_cast<T*>(y) + r * out);
    });
  });
  return status;
}

Status run_max_roi_pool(const Roi& s, DType dtype, const void* x, const void* rois, void* y, int threads) {
  Status status;
  tensor::visit_float(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* boxes = static_cast<const T*>(rois);
    for (int64_t r = 0; r < s.boxes; ++r)
      if (const T batch = boxes[r * kRoiNumbers]; !(batch >= 0 && batch < static_cast<T>(s.batch))) {
        status = wrong_batch(std::to_string(batch), s.batch);
        return;
      }
    const int64_t out = s.channels * s.out_height * s.out_width;
    base::parallel_for(s.boxes, threads, [&](int64_t r) {
      const T* box = boxes + r * kRoiNumbers;
      const int64_t image = static_cast<int64_t>(box[0]) * s.channels * s.height * s.width;
      max_pool_box(s, box, static_cast<const T*>(x) + image, static_cast<T*>(y) + r * out);
    });
  });
  return status;
}

}  // namespace walle::kernels
