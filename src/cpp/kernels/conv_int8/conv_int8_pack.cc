// Weights in the order of the kernels of conv_int8.
#include <algorithm>
#include <cstring>

#include "kernels/conv_int8/conv_int8.h"

namespace walle::kernels {

namespace {
// A weight without its zero point.
class Centred {
 public:
  Centred(const ConvInt8Weights& w, int64_t each) : w_(w), each_(each) {}
  int32_t operator()(int64_t output, int64_t i) const {
    const uint8_t code = w_.codes[output * each_ + i];
    const int32_t zero = w_.zeros.empty() ? 0 : w_.zeros[w_.zeros.size() == 1 ? 0 : output];
    return (w_.is_signed ? static_cast<int8_t>(code) : code) - zero;
  }

 private:
  const ConvInt8Weights& w_;
  int64_t each_;
};

// Puts `value` into part `part` of a word of `step` parts.
void put(uint32_t& word, int64_t step, int64_t part, int32_t value) {
  const int bits = step == 4 ? 8 : 16;
  word |= (static_cast<uint32_t>(value) & ((1u << bits) - 1)) << (bits * part);
}

void pack_dense(const ConvInt8& c, const Centred& w, uint32_t* out) {
  const ConvShape& s = c.shape;
  const int64_t panel = c.panel(), step = c.table->step, inputs = s.c / s.groups, taps = s.taps();
  const int64_t beside = c.table->words;
  for (int64_t output = 0; output < s.m; ++output) {
    uint32_t* const to = out + output / panel * panel * taps * c.blocks * c.words + output % panel * beside;
    for (int64_t channel = 0; channel < inputs; ++channel)
      for (int64_t tap = 0; tap < taps; ++tap) {
        const int64_t word = (tap * c.blocks + channel / kBlock) * c.words + channel % kBlock / step;
        put(to[word / beside * beside * panel + word % beside], step, channel % step,
            w(output, channel * taps + tap));
      }
  }
}

// Four times the transform of each window: along one side (2a, a + b + c, a - b + c, 2c).
void pack_winograd(const ConvInt8& c, const Centred& w, uint32_t* out) {
  constexpr int64_t kSide = 4, kTaps = 3;
  const ConvShape& s = c.shape;
  const int64_t panel = c.panel();
  const auto side = [](const int32_t* from, int64_t step, int32_t* to, int64_t to_step) {
    const int32_t a = from[0], b = from[step], d = from[2 * step];
    to[0] = 2 * a;
    to[to_step] = a + b + d;
    to[2 * to_step] = a - b + d;
    to[3 * to_step] = 2 * d;
  };
  for (int64_t output = 0; output < s.m; ++output) {
    uint32_t* const to = out + output / panel * panel * c.points() * c.blocks * c.words + output % panel;
    for (int64_t channel = 0; channel < s.c; ++channel) {
      int32_t window[kTaps * kTaps], rows[kTaps * kSide], points[kSide * kSide];
      for (int64_t tap = 0; tap < kTaps * kTaps; ++tap)
        window[tap] = w(output, channel * kTaps * kTaps + tap);
      for (int64_t r = 0; r < kTaps; ++r) side(window + r * kTaps, 1, rows + r * kSide, 1);
      for (int64_t q = 0; q < kSide; ++q) side(rows + q, kSide, points + q, kSide);
      for (int64_t point = 0; point < kSide * kSide; ++point) {
        const int64_t word = (point * c.blocks + channel / kBlock) * c.words + channel % kBlock / 2;
        put(to[word * panel], 2, channel % 2, points[point]);
      }
    }
  }
}

void pack_depthwise(const ConvInt8& c, const Centred& w, uint32_t* out) {
  const ConvShape& s = c.shape;
  const int64_t each = c.depthwise_words(), wide = each / s.kh;
  for (int64_t output = 0; output < s.m; ++output) {
    uint32_t* const to = out + output / kBlock * each * kBlock + output % kBlock;
    for (int64_t i = 0; i < s.kh; ++i)
      for (int64_t j = 0; j < s.kw; ++j) {
        const int64_t step = c.table->step, word = i * wide + j / step;
        put(to[word * kBlock], step, j % step, w(output, i * s.kw + j));
      }
  }
}
}  // namespace

bool fits_eight_bits(const ConvInt8Weights& weights, int64_t m, int64_t each) {
  const Centred w(weights, each);
  for (int64_t output = 0; output < m; ++output)
    for (int64_t i = 0; i < each; ++i)
      if (const int32_t v = w(output, i); v < -128 || v > 127) return false;
  return true;
}

int64_t conv_int8_packed_words(const ConvInt8& c) { return c.weight_words() + 3 * c.outputs(); }

void pack_conv_int8(const ConvInt8& c, const ConvInt8Weights& weights, std::span<const int32_t> bias,
                    std::span<const float> factors, uint32_t* out) {
  const ConvShape& s = c.shape;
  const int64_t each = (c.depthwise ? 1 : s.c / s.groups) * s.taps();
  const Centred w(weights, each);
  std::fill_n(out, conv_int8_packed_words(c), 0u);
  const auto pack = c.depthwise ? pack_depthwise : c.winograd ? pack_winograd : pack_dense;
  pack(c, w, out);
  uint32_t* const sums = out + c.weight_words();
  for (int64_t output = 0; output < s.m; ++output) {
    uint32_t sum = 0;
    for (int64_t i = 0; i < each; ++i) sum += static_cast<uint32_t>(w(output, i));
    sums[output] = sum;
    if (!bias.empty()) sums[c.outputs() + output] = static_cast<uint32_t>(bias[output]);
    const float factor = factors.empty() ? 0 : factors[factors.size() == 1 ? 0 : output];
    std::memcpy(sums + 2 * c.outputs() + output, &factor, sizeof factor);
  }
}

}  // namespace walle::kernels
