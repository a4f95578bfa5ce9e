#include "kernels/pool/pool.h"

#include <algorithm>
#include <random>

#include "kernels/compare.h"
#include "kernels/pool/pool_codes.h"
#include "kernels/pool/pool_reference.h"
#include "seed.h"
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
                              make(1, 20, 9, 3, 1, 2, 1, false),    make(4, 5, 5, 3, 3, 1, 1, true),
                              make(3, 50, 70, 3, 3, 1, 1, true),    make(2, 41, 37, 5, 3, 1, 2, false),
                              make(2, 33, 90, 2, 4, 1, 0, false),   make(1, 64, 64, 3, 40, 1, 1, false)};
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
                                make(2, 40, 41, 3, 1, 2, 1, false), make(2, 40, 41, 2, 2, 1, 0, false),
                                make(2, 40, 61, 4, 3, 1, 1, false)}) {
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

template <class T>
void expect_codes(const PoolShape& s, std::mt19937& random) {
  std::vector<T> x(static_cast<size_t>(s.channels * s.h * s.w));
  for (T& v : x) v = static_cast<T>(random());
  std::vector<T> want(static_cast<size_t>(s.channels * s.oh * s.ow));
  pool_reference(s, x.data(), want.data(), 1);
  ASSERT_TRUE(pools_codes(s, tensor::kDTypeOf<T>));
  for (const int threads : {1, 2}) {
    std::vector<std::byte> workspace(pool_codes_workspace_bytes(s, threads) + 1, std::byte{0x5a});
    std::vector<T> y(want.size() + 1, T(7));
    run_pool_codes(s, tensor::kDTypeOf<T>, x.data(), y.data(), threads, workspace.data());
    ASSERT_EQ(workspace.back(), std::byte{0x5a});
    ASSERT_EQ(y.back(), T(7));
    y.pop_back();
    ASSERT_EQ(y, want) << s.h << 'x' << s.w << " windows " << s.kh << 'x' << s.kw << " strides " << s.sh
                       << ',' << s.sw << " padding " << s.pt << ',' << s.pl;
  }
}

TEST(Pool, CodesAreTheDefinitions) {
  std::mt19937 random(test_seed());
  const auto pick = [&](int64_t least, int64_t most) {
    return least + static_cast<int64_t>(random() % static_cast<uint64_t>(most - least + 1));
  };
  for (int round = 0; round < 400 && !::testing::Test::HasFatalFailure(); ++round) {
    PoolShape s;
    s.channels = pick(1, 4);
    s.h = pick(1, 20);
    s.w = pick(1, 70);
    s.kh = pick(1, 5);
    s.kw = pick(1, 5);
    s.sh = pick(1, 4);
    s.sw = pick(1, 4);
    s.dh = s.dw = 1;
    s.pt = pick(0, s.kh + 1);
    s.pl = pick(0, s.kw + 1);
    // Windows that reach beyond the image, and some that lie beyond it.
    s.oh = (s.h + s.pt) / s.sh + pick(0, 1);
    s.ow = (s.w + s.pl) / s.sw + pick(0, 1);
    expect_codes<uint8_t>(s, random);
    expect_codes<int8_t>(s, random);
  }
}

}  // namespace
}  // namespace walle::kernels
