#include "kernels/conv/conv.h"

#include <algorithm>
#include <cstring>

#include "base/copy.h"
#include "base/thread_pool.h"
#include "kernels/workspace.h"

namespace walle::kernels {

WALLE_PICK_PER_ISA(ConvTable, kConvF32, conv_table)

namespace {
constexpr int kMaxPanel = 64;  // more columns than any gemm panel has: twice the 32 of avx512

int64_t channel_elements(const Conv& c) { return c.planes.count * c.planes.rows * c.planes.pitch; }
int64_t plane_floats(const Conv& c, int64_t channels) {
  return whole_lines(channels * channel_elements(c) + kSlackFloats);
}

// The plane that tap (i, j) reads: strides split the input into sh * sw of them.
int32_t phase_of(const ConvShape& s, int64_t i, int64_t j) {
  return static_cast<int32_t>(i * s.dh % s.sh * s.sw + j * s.dw % s.sw);
}

void find_planes(Conv& c) {
  const ConvShape& s = c.shape;
  c.planes.h = s.h;
  c.planes.w = s.w;
  c.planes.sh = s.sh;
  c.planes.sw = s.sw;
  c.planes.pt = s.pt;
  c.planes.pl = s.pl;
  // The last tap of the last output decides how far a plane reaches; rows and columns of the input behind
  // that are never copied. Every plane gets the same size, that of the largest, so that an offset is one
  // multiplication.
  c.planes.rows = (s.kh - 1) * s.dh / s.sh + s.oh;
  c.planes.pitch = (s.kw - 1) * s.dw / s.sw + s.ow;
  for (int64_t i = 0; i < s.kh; ++i)
    for (int64_t j = 0; j < s.kw; ++j) {
      const int32_t phase = phase_of(s, i, j);
      if (std::ranges::find(c.phases, phase) == c.phases.end()) c.phases.push_back(phase);
    }
  c.planes.count = static_cast<int64_t>(c.phases.size());
  c.planes.phase = c.phases.data();
}

void find_offsets(Conv& c) {
  const ConvShape& s = c.shape;
  for (int64_t i = 0; i < s.kh; ++i)
    for (int64_t j = 0; j < s.kw; ++j) {
      const int64_t plane = std::ranges::find(c.phases, phase_of(s, i, j)) - c.phases.begin();
      c.tap.push_back((plane * c.planes.rows + i * s.dh / s.sh) * c.planes.pitch + j * s.dw / s.sw);
    }
  for (int64_t ch = 0; ch < s.c / s.groups; ++ch)
    for (int64_t t : c.tap) c.offset.push_back(ch * channel_elements(c) + t);
}

// One group of one image as a matrix product whose B panels are packed on demand.
class Columns {
 public:
  Columns(const Conv& c, const float* planes) : c_(c), planes_(planes) {}
  PanelSource source() const { return {fill, this}; }

 private:
  static void fill(const void* object, int64_t k0, int64_t k, int64_t j0, int64_t cols, float* out) {
    const auto& self = *static_cast<const Columns*>(object);
    const ConvShape& s = self.c_.shape;
    ConvRun runs[kMaxPanel];
    // Outputs of one row lie side by side in a plane; where a panel runs over the end of a row, a new run
    // starts a pitch later.
    int64_t count = 0;
    for (int64_t j = j0; j < j0 + cols;) {
      const int64_t row = j / s.ow;
      const int64_t col = j % s.ow;
      const int64_t length = std::min(s.ow - col, j0 + cols - j);
      runs[count++] = {.from = row * self.c_.planes.pitch + col, .length = length};
      j += length;
    }
    self.c_.table->pack_panel(self.planes_, self.c_.offset.data() + k0, k, runs, count, self.c_.gemm->nr,
                              self.c_.direct, out);
  }

  const Conv& c_;
  const float* planes_;
};

void run_dense(const Conv& c, const float* x, const float* weights, const float* packed, const Epilogue& e,
               float* y, int threads, std::byte* workspace) {
  const ConvShape& s = c.shape;
  auto* planes = reinterpret_cast<float*>(workspace);
  std::byte* scratch = c.direct ? workspace : workspace + plane_floats(c, s.c) * kFloatBytes;
  const int64_t outputs = s.oh * s.ow;
  const int64_t mg = s.m / s.groups;
  const int64_t cg = s.c / s.groups;
  for (int64_t n = 0; n < s.n; ++n) {
    const float* image = x + n * s.c * s.h * s.w;
    if (!c.direct)
      // Planes of all channels at once, not per group: grouped layers share them, and one hand-over of work
      // to the threads suffices.
      base::parallel_for(s.c, threads, [&](int64_t ch) {
        c.table->fill_planes(c.planes, image + ch * s.h * s.w, true, planes + ch * channel_elements(c));
      });
    for (int64_t g = 0; g < s.groups; ++g) {
      const Columns columns(c, c.direct ? image + g * cg * s.h * s.w : planes + g * cg * channel_elements(c));
      Gemm p;
      p.m = mg;
      p.n = outputs;
      p.k = s.depth();
      if (packed) p.packed_a = packed + g * packed_a_elements(*c.gemm, mg, p.k);
      if (weights) p.a = {weights + g * mg * p.k, p.k, 1};
      if (c.pointwise)
        p.b = {image + g * cg * outputs, outputs, 1};
      else
        p.panels = columns.source();
      p.c = y + (n * s.m + g * mg) * outputs;
      p.c_row = outputs;
      p.epilogue = e;
      if (e.row_bias) p.epilogue.row_bias += g * mg;
      if (e.residual) p.epilogue.residual += (n * s.m + g * mg) * outputs;
      run_gemm(*c.gemm, p, threads, scratch);
    }
  }
}

// Of one thread: the planes of a channel, and rows before their gaps are closed.
int64_t depthwise_floats(const Conv& c) {
  if (c.in_place) return 0;
  return plane_floats(c, 1) + whole_lines(c.shape.oh * c.planes.pitch + kSlackFloats);
}

// Square windows of 3 and 5 without dilation, as nearly all depthwise layers have them.
bool reads_image(const ConvShape& s) {
  return s.depthwise() && s.kh == s.kw && (s.kh == 3 || s.kh == 5) && s.sh == s.sw && s.sh <= 2 &&
         s.dh == 1 && s.dw == 1;
}

// Channels of all images, in equal shares.
void run_images(const Conv& c, const float* x, const float* weights, const Epilogue& e, float* y,
                int threads) {
  const ConvShape& s = c.shape;
  const int64_t channels = s.n * s.m;
  const int64_t multiplier = s.m / s.c;
  const int64_t outputs = s.oh * s.ow;
  const int64_t shares = std::min<int64_t>(threads, channels);
  base::parallel_for(shares, threads, [&](int64_t share) {
    for (int64_t i = channels * share / shares; i < channels * (share + 1) / shares; ++i) {
      const int64_t m = i % s.m;
      c.table->depthwise_image(s.kh, s.sh,
                               {.image = x + i / multiplier * s.h * s.w,
                                .weights = weights + m * s.taps(),
                                .h = s.h,
                                .w = s.w,
                                .pt = s.pt,
                                .pl = s.pl,
                                .oh = s.oh,
                                .ow = s.ow,
                                .out = y + i * outputs,
                                .residual = e.residual ? e.residual + i * outputs : nullptr,
                                .bias = e.row_bias ? e.row_bias[m] : 0,
                                .activation = e.activation,
                                .alpha = e.alpha,
                                .beta = e.beta});
    }
  });
}

void run_depthwise(const Conv& c, const float* x, const float* weights, const Epilogue& e, float* y,
                   int threads, std::byte* workspace) {
  const ConvShape& s = c.shape;
  const int64_t channels = s.n * s.c;
  const int64_t multiplier = s.m / s.c;
  const int64_t outputs = s.oh * s.ow;
  // Whole channels per thread: a depthwise channel is independent of all others, and its planes then stay in
  // one core's cache from being filled to being read.
  const int64_t shares = std::min<int64_t>(threads, channels);
  base::parallel_for(shares, threads, [&](int64_t share) {
    auto* planes = reinterpret_cast<float*>(workspace) + share * depthwise_floats(c);
    // The vectors of the last row read past the planes. Their products are thrown away, but rubbish there
    // could be a signalling or subnormal number.
    std::memset(planes + channel_elements(c), 0, kSlackFloats * kFloatBytes);
    const int64_t first = channels * share / shares;
    for (int64_t i = first; i < channels * (share + 1) / shares; ++i) {
      // Borders are written for the first channel only: all channels share one buffer and one padding.
      c.table->fill_planes(c.planes, x + i * s.h * s.w, i == first, planes);
      for (int64_t q = 0; q < multiplier; ++q) {
        // ONNX lets a group have several outputs (a depth multiplier), which then are consecutive channels.
        const int64_t m = i % s.c * multiplier + q;
        const int64_t at = (i / s.c * s.m + m) * outputs;
        c.table->depthwise({.planes = planes,
                            .tap = c.tap.data(),
                            .weights = weights + m * s.taps(),
                            .taps = s.taps(),
                            .oh = s.oh,
                            .ow = s.ow,
                            .pitch = c.planes.pitch,
                            .out = y + at,
                            .scratch = planes + plane_floats(c, 1),
                            .residual = e.residual ? e.residual + at : nullptr,
                            .bias = e.row_bias ? e.row_bias[m] : 0,
                            .activation = e.activation,
                            .alpha = e.alpha,
                            .beta = e.beta});
      }
    }
  });
}
}  // namespace

// Written out because planes.phase points into phases.
Conv& Conv::operator=(Conv&& other) noexcept {
  shape = other.shape;
  gemm = other.gemm;
  table = other.table;
  planes = other.planes;
  phases = std::move(other.phases);
  tap = std::move(other.tap);
  offset = std::move(other.offset);
  direct = other.direct;
  in_place = other.in_place;
  pointwise = other.pointwise;
  planes.phase = phases.data();
  return *this;
}

Conv plan_conv(const ConvShape& shape, Isa isa) {
  Conv c;
  c.shape = shape;
  c.gemm = &gemm_table(isa);
  c.table = &conv_table(isa);
  c.in_place = c.table->depthwise_image && reads_image(shape);
  find_planes(c);
  // Without stride and leading padding the input is its own plane, unless a window reaches past its end.
  c.direct = !shape.depthwise() && shape.sh == 1 && shape.sw == 1 && shape.pt == 0 && shape.pl == 0 &&
             c.planes.rows <= shape.h && c.planes.pitch <= shape.w;
  if (c.direct) {
    c.planes.rows = shape.h;
    c.planes.pitch = shape.w;
  }
  // Worth a case of its own: 1 x 1 layers take 95 % of MobileNet's time (Howard et al., 2017). They need no
  // columns, the image itself is B.
  c.pointwise = c.direct && shape.taps() == 1 && shape.oh == shape.h && shape.ow == shape.w;
  return c;
}

Conv make_conv(const ConvShape& shape, Isa isa) {
  Conv c = plan_conv(shape, isa);
  find_offsets(c);
  return c;
}

double conv_flops(const Conv& c) {
  const ConvShape& s = c.shape;
  const int64_t outputs = s.oh * s.ow;
  const auto filters = static_cast<double>(s.n * s.m);
  if (s.depthwise()) return 2 * filters * static_cast<double>(outputs * s.taps());
  // Whole panels, and half of one where a single vector holds the rest.
  const int64_t half = c.gemm->nr / 2;
  const int64_t rest = outputs % c.gemm->nr;
  const int64_t columns = outputs - rest + base::round_up(rest, rest <= half ? half : c.gemm->nr);
  return 2 * filters * static_cast<double>(columns) * static_cast<double>(s.depth());
}

int64_t packed_weight_elements(const Conv& c) {
  const ConvShape& s = c.shape;
  if (s.depthwise()) return s.m * s.taps();
  return s.groups * packed_a_elements(*c.gemm, s.m / s.groups, s.depth());
}

void pack_weights(const Conv& c, const float* weights, float* out) {
  const ConvShape& s = c.shape;
  if (s.depthwise()) {
    base::copy_bytes(out, weights, s.m * s.taps() * kFloatBytes);
    return;
  }
  const int64_t mg = s.m / s.groups;
  for (int64_t g = 0; g < s.groups; ++g)
    c.gemm->pack_a(weights + g * mg * s.depth(), s.depth(), 1, mg, s.depth(),
                   out + g * packed_a_elements(*c.gemm, mg, s.depth()));
}

int64_t conv_workspace_bytes(const Conv& c, int threads, bool weights_packed) {
  const ConvShape& s = c.shape;
  if (s.depthwise()) return threads * depthwise_floats(c) * kFloatBytes;
  const int64_t planes = c.direct ? 0 : plane_floats(c, s.c) * kFloatBytes;
  return planes + threads * gemm_workspace_bytes(*c.gemm, s.m / s.groups, s.oh * s.ow, s.depth(),
                                                 weights_packed, false);
}

void run_conv(const Conv& c, const float* x, const float* weights, const float* packed, const Epilogue& e,
              float* y, int threads, std::byte* workspace) {
  if (c.shape.n == 0 || c.shape.m == 0 || c.shape.oh * c.shape.ow == 0) return;
  if (c.in_place)
    run_images(c, x, packed ? packed : weights, e, y, threads);
  else if (c.shape.depthwise())
    run_depthwise(c, x, packed ? packed : weights, e, y, threads, workspace);
  else
    run_dense(c, x, packed ? nullptr : weights, packed, e, y, threads, workspace);
}

}  // namespace walle::kernels
