#include "kernels/pool/pool.h"

#include <algorithm>

#include "kernels/compare.h"
#include "kernels/pool/pool_reference.h"
#include "tensor/buffer.h"

namespace walle::kernels {
namespace {

PoolShape make(int64_t channels, int64_t h, int64_t w, int64_t k, int64_t stride, int64_t dilation,
               int64_t pad, bool ceil) {
  PoolShape s;
  s.channels = channels;
  s.h = h;
  s.w = w;
  s.kh = s.kw = k;
  s.sh = s.sw = stride;
  s.dh = s.dw = dilation;
  s.pt = s.pl = s.pb = s.pr = pad;
  const int64_t up = ceil ? stride - 1 : 0;
  s.oh = (h + 2 * pad - (k - 1) * dilation - 1 + up) / stride + 1;
  s.ow = (w + 2 * pad - (k - 1) * dilation - 1 + up) / stride + 1;
  return s;
}

TEST(Pool, EverySetMatchesTheDefinition) {
  const PoolShape shapes[] = {make(3, 112, 112, 3, 2, 1, 1, false), make(2, 13, 29, 3, 2, 1, 0, true),
                              make(5, 7, 7, 7, 1, 1, 0, false),     make(2, 17, 18, 2, 2, 1, 0, false),
                              make(1, 20, 9, 3, 1, 2, 1, false),    make(4, 5, 5, 3, 3, 1, 1, true)};
  for (const PoolShape& base : shapes)
    for (int kind = 0; kind < 3; ++kind) {
      PoolShape s = base;
      s.mean = kind > 0;
      s.count_padding = kind > 1;
      const auto x = random_floats(s.channels * s.h * s.w, 1);
      std::vector<float> want(static_cast<size_t>(s.channels * s.oh * s.ow));
      pool_reference(s, x.data(), want.data(), 1);
      for (Isa isa : supported_isas())
        for (int threads : {1, 2}) {
          SCOPED_TRACE(std::string(isa_name(isa)) + " kind " + std::to_string(kind) + " width " +
                       std::to_string(s.w));
          const Pool pool = make_pool(s, isa);
          auto workspace = Buffer::allocate(static_cast<size_t>(pool_workspace_bytes(pool, threads)));
          std::vector<float> y(want.size(), -7);
          run_pool(pool, x.data(), y.data(), threads, workspace->data());
          expect_close(y, want, 1e-6);
        }
    }
}

// Whatever comes before or after it in its window, in the widest vector and in what is left of a row.
TEST(Pool, AMaximumKeepsNaN) {
  for (const PoolShape& base : {make(2, 40, 41, 3, 1, 1, 1, false), make(2, 40, 41, 3, 2, 1, 1, false),
                                make(2, 40, 41, 3, 1, 2, 1, false), make(2, 40, 41, 2, 2, 1, 0, false)}) {
    PoolShape s = base;
    s.mean = false;
    auto x = random_floats(s.channels * s.h * s.w, 3);
    for (size_t i = 5; i < x.size(); i += 37) x[i] = __builtin_nanf("");
    std::vector<float> want(static_cast<size_t>(s.channels * s.oh * s.ow));
    pool_reference(s, x.data(), want.data(), 1);
    ASSERT_TRUE(std::ranges::any_of(want, [](float v) { return std::isnan(v); }));
    for (Isa isa : supported_isas()) {
      SCOPED_TRACE(std::string(isa_name(isa)) + " stride " + std::to_string(s.sh));
      const Pool pool = make_pool(s, isa);
      auto workspace = Buffer::allocate(static_cast<size_t>(pool_workspace_bytes(pool, 1)));
      std::vector<float> y(want.size(), -7);
      run_pool(pool, x.data(), y.data(), 1, workspace->data());
      expect_close(y, want, 1e-6);
    }
  }
}

}  // namespace
}  // namespace walle::kernels
