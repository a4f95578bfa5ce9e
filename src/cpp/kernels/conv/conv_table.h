// What conv_simd.cc exports per instruction set. Plain data
// and function pointers: shared by files of different flags.
#pragma once

#include "kernels/activation.h"

namespace walle::kernels {

// The padded input of one channel, split by stride: plane (a, b) holds x[r * sh
// + a - pt][c * sw + b - pl] at row r, column c. In this form every tap of the
// window, whatever stride, dilation and padding, reads `position + constant`.
struct ConvPlanes {
  int64_t h = 0, w = 0;  // input
  int64_t sh = 1, sw = 1, pt = 0, pl = 0;
  int64_t rows = 0, pitch = 0;     // of one plane
  int64_t count = 0;               // planes per channel, those some tap reads
  const int32_t* phase = nullptr;  // a * sw + b of each plane
  float fill = 0;                  // what lies outside the input
};

// A run of outputs that are consecutive in the planes.
struct ConvRun {
  int64_t from = 0;  // position in the plane
  int64_t length = 0;
};

// One channel of one image with one filter; everything is a pointer or a number, so that a task costs nothing
// to make.
struct DepthwiseTask {
  const float* planes = nullptr;  // of this channel; kLanes floats may be read past the last element
  const int64_t* tap = nullptr;   // offset of each tap
  const float* weights = nullptr;
  int64_t taps = 0;
  int64_t oh = 0, ow = 0, pitch = 0;
  float* out = nullptr;      // oh x ow, dense
  float* scratch = nullptr;  // oh * pitch + 4 vectors
  const float* residual = nullptr;
  float bias = 0;
  Activation activation = Activation::none;
  float alpha = 0, beta = 0;
};

// The same for a square window without dilation over the image as it lies.
struct DepthwiseImage {
  const float* image = nullptr;
  const float* weights = nullptr;
  int64_t h = 0, w = 0, pt = 0, pl = 0;
  int64_t oh = 0, ow = 0;
  float* out = nullptr;  // oh x ow, dense
  const float* residual = nullptr;
  float bias = 0;
  Activation activation = Activation::none;
  float alpha = 0, beta = 0;
};

struct ConvTable {
  // `borders` false: what lies outside the input is in `out` already, from another channel.
  void (*fill_planes)(const ConvPlanes& p, const float* channel, bool borders, float* out);
  // Rows offset[0 .. k): each the runs behind one another, then zeros up to nr. `exact`: read nothing past a
  // run. Writes up to one vector past out[k * nr].
  void (*pack_panel)(const float* planes, const int64_t* offset, int64_t k, const ConvRun* runs,
                     int64_t count, int64_t nr, bool exact, float* out);
  void (*depthwise)(const DepthwiseTask& task);
  // Windows of 3 or 5, strides of 1 or 2. Null where planes are faster: a partial vector of four lanes takes
  // as long as its elements one by one (SSE4: 3.4 GFLOP/s against 10.8 on maps of 14 x 14).
  void (*depthwise_image)(int64_t window, int64_t stride, const DepthwiseImage& image);
};

}  // namespace walle::kernels
