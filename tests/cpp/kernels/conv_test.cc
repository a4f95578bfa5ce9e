#include "kernels/conv/conv.h"

#include "kernels/compare.h"
#include "kernels/conv/conv_reference.h"
#include "tensor/buffer.h"

namespace walle::kernels {
namespace {

ConvShape make(int64_t n, int64_t c, int64_t h, int64_t w, int64_t m, int64_t k, int64_t stride,
               int64_t dilation, int64_t pad, int64_t groups) {
  ConvShape s;
  s.n = n;
  s.c = c;
  s.h = h;
  s.w = w;
  s.m = m;
  s.kh = s.kw = k;
  s.sh = s.sw = stride;
  s.dh = s.dw = dilation;
  s.pt = s.pl = pad;
  s.groups = groups;
  s.oh = (h + 2 * pad - (k - 1) * dilation - 1) / stride + 1;
  s.ow = (w + 2 * pad - (k - 1) * dilation - 1) / stride + 1;
  return s;
}

// The shapes of real models in small, and the corners: stride above the kernel, dilation, groups, one pixel,
// wide and narrow.
std::vector<ConvShape> shapes() {
  std::vector<ConvShape> list = {
      make(1, 3, 17, 19, 16, 3, 1, 1, 1, 1), make(2, 5, 14, 14, 30, 1, 1, 1, 0, 1),
      make(1, 3, 33, 33, 8, 7, 2, 1, 3, 1),  make(1, 8, 7, 7, 20, 3, 1, 1, 1, 1),
      make(1, 8, 9, 40, 6, 3, 1, 1, 0, 1),   make(1, 6, 15, 15, 9, 1, 2, 1, 0, 1),
      make(1, 4, 20, 21, 7, 3, 2, 2, 2, 1),  make(1, 8, 12, 12, 12, 3, 1, 1, 1, 4),
      make(1, 6, 30, 31, 6, 3, 1, 1, 1, 6),  make(2, 6, 29, 70, 6, 3, 2, 1, 1, 6),
      make(1, 5, 14, 14, 5, 5, 1, 1, 2, 5),  make(1, 5, 7, 7, 5, 5, 2, 1, 2, 5),
      make(1, 4, 12, 11, 8, 3, 1, 1, 1, 4),  make(1, 3, 1, 1, 4, 1, 1, 1, 0, 1),
      make(1, 4, 20, 20, 4, 3, 1, 3, 3, 4),  make(1, 3, 10, 10, 4, 2, 3, 1, 0, 1),
      make(1, 2, 56, 56, 3, 3, 1, 1, 1, 1),  make(1, 3, 13, 13, 3, 7, 1, 1, 3, 3),
      make(1, 40, 5, 5, 30, 3, 1, 1, 5, 1),
  };
  ConvShape line = make(1, 6, 1, 50, 10, 3, 1, 1, 0, 1);  // one spatial axis
  line.kh = 1;
  line.oh = 1;
  line.pl = 1;
  line.ow = 50;
  list.push_back(line);
  ConvShape uneven = make(1, 4, 16, 23, 5, 3, 1, 1, 1, 1);
  uneven.sh = 2;
  uneven.oh = 8;
  uneven.dw = 2;
  uneven.ow = 21;
  list.push_back(uneven);
  return list;
}

std::vector<float> simd(const ConvShape& s, Isa isa, const Epilogue& e, bool pack, int threads) {
  const auto x = random_floats(s.n * s.c * s.h * s.w, 1), w = random_floats(s.m * s.depth(), 2);
  const Conv conv = make_conv(s, isa);
  std::vector<float> packed(static_cast<size_t>(packed_weight_elements(conv)));
  pack_weights(conv, w.data(), packed.data());
  auto workspace = Buffer::allocate(static_cast<size_t>(conv_workspace_bytes(conv, threads, pack)));
  std::vector<float> y(static_cast<size_t>(s.n * s.m * s.oh * s.ow), -7);
  run_conv(conv, x.data(), w.data(), pack ? packed.data() : nullptr, e, y.data(), threads, workspace->data());
  return y;
}

std::vector<float> reference(const ConvShape& s, const Epilogue& e) {
  const auto x = random_floats(s.n * s.c * s.h * s.w, 1), w = random_floats(s.m * s.depth(), 2);
  std::vector<float> y(static_cast<size_t>(s.n * s.m * s.oh * s.ow));
  conv_reference(s, x.data(), w.data(), e.row_bias, e, y.data(), 1);
  return y;
}

TEST(Conv, EverySetMatchesTheDefinition) {
  size_t number = 0;
  for (const ConvShape& s : shapes()) {
    const auto bias = random_floats(s.m, 3), residual = random_floats(s.n * s.m * s.oh * s.ow, 4);
    Epilogue fused;
    fused.row_bias = bias.data();
    fused.residual = residual.data();
    fused.activation = Activation::hard_swish;
    Epilogue clamped;
    clamped.row_bias = bias.data();
    clamped.activation = Activation::clamp;
    clamped.beta = 0.5f;
    for (const Epilogue& e : {Epilogue{}, clamped, fused}) {
      const auto want = reference(s, e);
      for (Isa isa : supported_isas())
        for (bool pack : {true, false})
          for (int threads : {1, 2}) {
            SCOPED_TRACE("shape " + std::to_string(number) + " " + std::string(isa_name(isa)) +
                         (pack ? " packed" : " plain") + " threads " + std::to_string(threads));
            expect_close(simd(s, isa, e, pack, threads), want, 2e-5);
          }
    }
    ++number;
  }
}

TEST(Conv, PointwiseReadsTheInputInPlace) {
  const Conv conv = make_conv(make(1, 8, 10, 10, 8, 1, 1, 1, 0, 1), Isa::scalar);
  EXPECT_TRUE(conv.pointwise);
  EXPECT_EQ(conv_workspace_bytes(conv, 1, true), gemm_workspace_bytes(*conv.gemm, 8, 100, 8, true, false));
}

}  // namespace
}  // namespace walle::kernels
