// HannWindow, HammingWindow, BlackmanWindow and MelWeightMatrix: tables
// that depend on a few numbers only, so the shape rule computes them.
#include <array>
#include <cmath>
#include <numbers>

#include "ops/registry.h"
#include "ops/rules/views.h"

namespace walle::ops {

namespace {
constexpr int64_t kMaxTable = int64_t{1} << 22;  // elements, each with a cosine or a logarithm behind it
// Far beyond what sound needs, and small enough that no product of the inputs overflows.
constexpr double kMaxMelBins = 1e5;
constexpr double kMaxDftLength = 1e6;
constexpr double kMaxHertz = 1e9;

Result<Tensor> table(DType dtype, const Shape& shape, const std::vector<double>& values) {
  WALLE_TRY(Shape::checked(shape.dims(), dtype_size(dtype), "table"));
  WALLE_ASSIGN(Tensor t, Tensor::allocate(dtype, shape));
  const bool known = tensor::visit_all(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto out = t.as_mutable<T>();
    for (size_t i = 0; i < out.size(); ++i) {
      if constexpr (std::is_same_v<T, tensor::Half> || std::is_same_v<T, tensor::BFloat16>)
        out[i] = T(static_cast<float>(values[i]));
      else
        out[i] = static_cast<T>(values[i]);
    }
  });
  if (!known)
    return model_error({"dtype ", dtype_name(dtype)}, "a numeric dtype", "output_datatype", "correct it");
  return t;
}

// a0 - a1 cos(2 pi i / n) + a2 cos(4 pi i / n)
Status infer_window(ir::InferContext& c, double a0, double a1, double a2) {
  WALLE_ASSIGN(const std::vector<int64_t> size, c.need_i64(0));
  if (size.size() != 1 || size[0] < 0 || size[0] > kMaxTable)
    return model_error({"size ", size.size() == 1 ? Text(size[0]) : Text{"of ", size.size(), " numbers"}},
                       "one number from 0 to 2^22", "window", "correct the size");
  const int64_t n = size[0];
  const double span =
      // Periodic windows have period n (for spectra), symmetric ones n - 1 (for filters).
      static_cast<double>(c.attrs().get_int("periodic", 1) != 0 ? n : std::max<int64_t>(n - 1, 1));
  std::vector<double> values;
  for (int64_t i = 0; i < n; ++i) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / span;
    values.push_back(a0 - a1 * std::cos(angle) + a2 * std::cos(2 * angle));
  }
  const auto dtype =
      static_cast<DType>(c.attrs().get_int("output_datatype", static_cast<int64_t>(DType::float32)));
  WALLE_ASSIGN(Tensor t, table(dtype, Shape{n}, values));
  c.output_value(0, std::move(t));
  return {};
}

// The coefficients are those of ONNX, which takes Hamming's own fractions and the rounded Blackman.
Status infer_hann(ir::InferContext& c) { return infer_window(c, 0.5, 0.5, 0); }
Status infer_hamming(ir::InferContext& c) { return infer_window(c, 25.0 / 46, 21.0 / 46, 0); }
Status infer_blackman(ir::InferContext& c) { return infer_window(c, 0.42, 0.5, 0.08); }

struct Mel {
  int64_t bins = 0, dft_length = 0, sample_rate = 0;
  double low = 0, high = 0;
};

Result<Mel> mel_of(ir::InferContext& c) {
  Mel m;
  // Bins, DFT length, sample rate, lower and upper edge.
  std::array<double, 5> v{};
  for (int i = 0; i < 5; ++i) {
    WALLE_ASSIGN(const Tensor* t, c.need(i));
    WALLE_ASSIGN(const std::vector<double> values, t->to_f64());
    if (values.size() != 1)
      return model_error({"shape ", t->shape().text()}, "a scalar", {"MelWeightMatrix input ", i},
                         "reshape it");
    v[i] = values[0];
  }
  const bool sane = v[0] >= 1 && v[0] <= kMaxMelBins && v[1] >= 1 && v[1] <= kMaxDftLength && v[2] >= 1 &&
                    v[2] <= kMaxHertz && v[3] >= 0 && v[4] > v[3] && v[4] <= kMaxHertz;
  // Rows times columns, before either becomes an integer: bins alone may be 10^5.
  if (!sane || (v[1] / 2 + 1) * v[0] > static_cast<double>(kMaxTable))
    return model_error("bins, DFT length, sample rate or edges out of range",
                       "positive numbers, the lower edge below the upper one", "MelWeightMatrix",
                       "check the five inputs");
  m.bins = static_cast<int64_t>(v[0]);
  m.dft_length = static_cast<int64_t>(v[1]);
  m.sample_rate = static_cast<int64_t>(v[2]);
  m.low = v[3];
  m.high = v[4];
  return m;
}

// Triangles between neighbouring centres, which lie evenly on the mel scale (O'Shaughnessy, "Speech
// Communication", 1987: 2595 log10(1 + f / 700)).
Status infer_mel(ir::InferContext& c) {
  WALLE_ASSIGN(const Mel m, mel_of(c));
  const int64_t rows = m.dft_length / 2 + 1;
  constexpr double kScale = 2595;  // mels per decade
  constexpr double kBreak = 700;   // hertz: below it the scale is nearly linear
  const auto mel = [](double hertz) { return kScale * std::log10(1 + hertz / kBreak); };
  const double step = (mel(m.high) - mel(m.low)) / static_cast<double>(m.bins + 2);
  std::vector<int64_t> at;
  for (int64_t i = 0; i < m.bins + 2; ++i) {
    const double hertz = kBreak * (std::pow(10, (mel(m.low) + static_cast<double>(i) * step) / kScale) - 1);
    at.push_back(static_cast<int64_t>(
        std::floor(static_cast<double>(m.dft_length + 1) * hertz / static_cast<double>(m.sample_rate))));
  }
  std::vector<double> values(rows * m.bins, 0.0);
  const auto set = [&](int64_t row, int64_t bin, double v) {
    // Edges beyond half the sample rate have no frequency to stand for.
    if (row >= 0 && row < rows) values[row * m.bins + bin] = v;
  };
  for (int64_t i = 0; i < m.bins; ++i) {
    const int64_t low = at[i];
    const int64_t centre = at[i + 1];
    const int64_t high = at[i + 2];
    // Bins narrower than one frequency: the triangle would be empty, ONNX's reference sets its tip.
    if (centre == low) set(centre, i, 1);
    for (int64_t j = low; centre > low && j <= std::min(centre, rows); ++j)
      set(j, i, static_cast<double>(j - low) / static_cast<double>(centre - low));
    for (int64_t j = centre; j < std::min(high, rows); ++j)
      set(j, i, static_cast<double>(high - j) / static_cast<double>(high - centre));
  }
  const auto dtype =
      static_cast<DType>(c.attrs().get_int("output_datatype", static_cast<int64_t>(DType::float32)));
  WALLE_ASSIGN(Tensor t, table(dtype, Shape{rows, m.bins}, values));
  c.output_value(0, std::move(t));
  return {};
}

constexpr ir::OpDef row(std::string_view name, int inputs, ir::InferFn infer) {
  return {.name = name,
          .op_class = ir::OpClass::composite,
          .inputs = {inputs, inputs},
          .infer = infer,
          .numeric = ir::NumericClass::elementwise};
}
constexpr std::array kRows{row("HannWindow", 1, infer_hann), row("HammingWindow", 1, infer_hamming),
                           row("BlackmanWindow", 1, infer_blackman), row("MelWeightMatrix", 5, infer_mel)};
}  // namespace

extern const std::span<const ir::OpDef> kWindowsOps = kRows;

}  // namespace walle::ops
