// Kernels that read at computed places: interpolation, grids, boxes, deformed windows, indexed maxima, and
// the choice of boxes. By hand where values are few, against another form of the definition where they are
// many.
#include <cmath>
#include <random>

#include "kernels/compare.h"
#include "kernels/nms/box_selection.h"
#include "kernels/parallel.h"
#include "kernels/pool/max_pool_indices.h"
#include "kernels/resize/interpolate.h"
#include "kernels/roi/roi.h"
#include "kernels/sample/deform_columns.h"
#include "kernels/sample/grid_sample.h"
#include "seed.h"

namespace walle::kernels {
namespace {

using Floats = std::vector<float>;

TEST(ParallelRanges, CoverEverythingOnce) {
  for (int64_t n : {0, 1, 5, 1000})
    for (int64_t grain : {0, 1, 7, 5000})
      for (int threads : {1, 2, 3}) {
        std::vector<int> seen(static_cast<size_t>(n), 0);
        parallel_ranges(n, grain, threads, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
        });
        EXPECT_EQ(seen, std::vector<int>(static_cast<size_t>(n), 1))
            << n << " by " << grain << " on " << threads;
      }
}

TEST(Interpolate, MatchesItsSumForEveryNumberOfTaps) {
  const uint32_t seed = test_seed();
  std::mt19937 rng(seed);
  for (int round = 0; round < 60; ++round) {
    Interpolate s{1 + static_cast<int64_t>(rng() % 4), 1 + static_cast<int64_t>(rng() % 9),
                  1 + static_cast<int64_t>(rng() % 12), rng() % 2 ? 1 : 1 + static_cast<int64_t>(rng() % 20),
                  1 + static_cast<int64_t>(rng() % 4)};
    const auto x = random_floats(s.outer * s.in * s.inner, static_cast<uint32_t>(rng()));
    auto weight = random_floats(s.out * s.taps, static_cast<uint32_t>(rng()));
    if (rng() % 3 == 0) weight[0] = 0;
    std::vector<int32_t> index(static_cast<size_t>(s.out * s.taps));
    for (int32_t& i : index) i = static_cast<int32_t>(rng() % static_cast<uint64_t>(s.in));
    ASSERT_TRUE(check_indices(s, index.data()).ok());
    Floats want(static_cast<size_t>(s.outer * s.out * s.inner));
    for (int64_t o = 0; o < s.outer; ++o)
      for (int64_t j = 0; j < s.out; ++j)
        for (int64_t i = 0; i < s.inner; ++i) {
          double sum = 0;
          for (int64_t t = 0; t < s.taps; ++t)
            sum +=
                static_cast<double>(weight[static_cast<size_t>(j * s.taps + t)]) *
                x[static_cast<size_t>((o * s.in + index[static_cast<size_t>(j * s.taps + t)]) * s.inner + i)];
          want[static_cast<size_t>((o * s.out + j) * s.inner + i)] = static_cast<float>(sum);
        }
    for (int threads : {1, 2}) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      Floats got(want.size(), -7);
      run_interpolate(s, DType::float32, x.data(), index.data(), weight.data(), got.data(), threads);
      expect_close(got, want, 1e-6);
    }
  }
}

TEST(Interpolate, SelectsWholeElementsOfEverySize) {
  const int32_t index[] = {2, 0, 0};
  for (int64_t bytes : {1, 2, 3, 4, 8, 12}) {
    const Interpolate s{2, 3, 3, bytes, 1};
    std::vector<uint8_t> x(static_cast<size_t>(6 * bytes)), y(x.size(), 0xff);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<uint8_t>(i);
    run_interpolate(s, DType::uint8, x.data(), index, nullptr, y.data(), 1);
    for (size_t r = 0; r < 6; ++r)
      for (size_t i = 0; i < static_cast<size_t>(bytes); ++i)
        EXPECT_EQ(y[r * static_cast<size_t>(bytes) + i],
                  x[(r / 3 * 3 + static_cast<size_t>(index[r % 3])) * static_cast<size_t>(bytes) + i]);
  }
}

TEST(Interpolate, TablesThatLeaveTheInputAreRefused) {
  const Interpolate s{1, 3, 1, 1, 2};
  for (const int32_t bad : {-1, 3, INT32_MIN, INT32_MAX}) {
    const int32_t index[] = {0, bad};
    const Status status = check_indices(s, index);
    ASSERT_FALSE(status.ok()) << bad;
    EXPECT_NE(status.error().message().find(std::to_string(bad)), std::string::npos);
  }
}

TEST(GridSample, ReadsCornersBordersAndBeyond) {
  const Floats x{0, 1, 2, 3};  // one row of four
  const auto sample = [&](float at, SampleMode mode, SamplePadding padding, bool corners) {
    GridSample s;
    s.axes = 1;
    s.size = {4, 0, 0};
    s.mode = mode;
    s.padding = padding;
    s.align_corners = corners;
    float y = -7;
    run_grid_sample(s, DType::float32, x.data(), &at, &y, 1);
    return y;
  };
  using enum SampleMode;
  using enum SamplePadding;
  EXPECT_FLOAT_EQ(sample(-1, linear, zeros, true), 0);
  EXPECT_FLOAT_EQ(sample(1, linear, zeros, true), 3);
  EXPECT_FLOAT_EQ(sample(0, linear, zeros, true), 1.5);
  EXPECT_FLOAT_EQ(sample(1, linear, zeros, false), 1.5) << "half of the last pixel lies beyond the edge";
  EXPECT_FLOAT_EQ(sample(1, linear, border, false), 3);
  EXPECT_FLOAT_EQ(sample(0, cubic, border, true), 1.5);
  EXPECT_FLOAT_EQ(sample(0.34F, nearest, zeros, true), 2);
  EXPECT_FLOAT_EQ(sample(1 + 2.0F / 3, linear, reflection, true), 2) << "one pixel beyond the last";
  EXPECT_FLOAT_EQ(sample(-9, linear, zeros, true), 0);
  const float inf = __builtin_inff(), nan = __builtin_nanf("");
  for (const float wild : {inf, -inf, nan, 3e38F, -3e38F})
    for (const SamplePadding padding : {zeros, border, reflection})
      for (const SampleMode mode : {nearest, linear, cubic}) {
        const float y = sample(wild, mode, padding, false);
        EXPECT_TRUE(std::isfinite(y) && y >= -1 && y <= 4) << "wild position " << wild << " reads " << y;
      }
}

TEST(RoiAlign, AveragesTheBinsOfABox) {
  Roi s;
  s.height = s.width = 4;
  s.boxes = 1;
  s.out_height = s.out_width = 2;
  s.half_pixel = false;
  s.sampling_ratio = 1;
  Floats x(16);
  for (size_t i = 0; i < 16; ++i) x[i] = static_cast<float>(i);
  const Floats box{0, 0, 2, 2};
  const int64_t batch[] = {0};
  Floats y(4, -7);
  ASSERT_TRUE(run_roi_align(s, DType::float32, x.data(), box.data(), batch, y.data(), 1).ok());
  EXPECT_EQ(y, (Floats{2.5F, 3.5F, 6.5F, 7.5F}))
      << "the middles of the four pixels of the box, between four neighbours each";
}

TEST(Roi, BoxesOfHostileSizesAndBatches) {
  Roi s;
  s.height = s.width = 4;
  s.boxes = 1;
  s.out_height = s.out_width = 2;
  const Floats x(16, 1);
  Floats y(4, -7);
  const float inf = __builtin_inff(), nan = __builtin_nanf("");
  for (const int64_t batch : {int64_t{-1}, int64_t{1}, INT64_MAX, INT64_MIN}) {
    const Floats box{0, 0, 2, 2};
    EXPECT_FALSE(run_roi_align(s, DType::float32, x.data(), box.data(), &batch, y.data(), 1).ok()) << batch;
  }
  const int64_t zero = 0;
  for (const Floats& box : {Floats{0, 0, 1e30F, 1}, Floats{0, 0, inf, inf}, Floats{nan, 0, 1, 1},
                            Floats{-1e30F, -1e30F, 1e30F, 1e30F}}) {
    const Status status = run_roi_align(s, DType::float32, x.data(), box.data(), &zero, y.data(), 1);
    EXPECT_FALSE(status.ok()) << "samples that cannot be counted";
  }
  for (const Floats& box :
       {Floats{0, -1e30F, inf, 1e30F, nan}, Floats{0, 3, 3, -3, -3}, Floats{0, 1e9F, 1e9F, 2e9F, 2e9F}})
    EXPECT_TRUE(run_max_roi_pool(s, DType::float32, x.data(), box.data(), y.data(), 1).ok())
        << "clipped to the input";
  for (const float batch : {-1.0F, 1.0F, nan, inf}) {
    const Floats box{batch, 0, 0, 1, 1};
    EXPECT_FALSE(run_max_roi_pool(s, DType::float32, x.data(), box.data(), y.data(), 1).ok()) << batch;
  }
}

TEST(MaxRoiPool, TakesTheLargestOfEachBin) {
  Roi s;
  s.height = s.width = 4;
  s.boxes = 1;
  s.out_height = s.out_width = 2;
  Floats x(16);
  for (size_t i = 0; i < 16; ++i) x[i] = static_cast<float>(i);
  const Floats box{0, 0, 0, 3, 3};
  Floats y(4, -7);
  ASSERT_TRUE(run_max_roi_pool(s, DType::float32, x.data(), box.data(), y.data(), 2).ok());
  EXPECT_EQ(y, (Floats{5, 7, 13, 15}));
}

TEST(DeformColumns, WithoutOffsetsAreThePlainWindows) {
  DeformColumns s;
  s.channels = 2;
  s.height = 5;
  s.width = 6;
  s.kernel[0] = s.kernel[1] = 3;
  s.stride[1] = 2;
  s.pad[0] = s.pad[1] = 1;
  s.out[0] = 5;
  s.out[1] = 3;
  const auto x = random_floats(2 * 5 * 6, 1);
  Floats offset(9 * 2 * 15, 0), mask(9 * 15, 0.5F), y(2 * 9 * 15, -7), want(y.size());
  for (int64_t c = 0; c < 2; ++c)
    for (int64_t t = 0; t < 9; ++t)
      for (int64_t p = 0; p < 15; ++p) {
        const int64_t row = p / 3 + t / 3 - 1, col = p % 3 * 2 + t % 3 - 1;
        const bool inside = row >= 0 && row < 5 && col >= 0 && col < 6;
        want[static_cast<size_t>((c * 9 + t) * 15 + p)] =
            inside ? x[static_cast<size_t>((c * 5 + row) * 6 + col)] : 0;
      }
  run_deform_columns(s, DType::float32, x.data(), offset.data(), nullptr, y.data(), 2);
  expect_close(y, want, 0);
  for (float& v : want) v *= 0.5F;
  run_deform_columns(s, DType::float32, x.data(), offset.data(), mask.data(), y.data(), 1);
  expect_close(y, want, 0);
  for (const float wild : {__builtin_inff(), __builtin_nanf(""), 1e30F, -1e30F}) {
    std::fill(offset.begin(), offset.end(), wild);
    run_deform_columns(s, DType::float32, x.data(), offset.data(), nullptr, y.data(), 1);
    EXPECT_EQ(y, Floats(y.size(), 0)) << "positions outside read zero; " << wild;
  }
}

TEST(MaxPoolIndices, SaysWhereTheMaximumWas) {
  MaxPoolIndices s;
  s.planes = 2;
  s.in = {2, 3};
  s.out = {1, 2};
  s.kernel = {2, 2};
  s.stride = {1, 1};
  s.dilation = {1, 1};
  s.pad = {0, 0};
  const Floats x{0, 5, 1, 2, 3, 9, -1, -2, -3, -4, -5, -6};
  Floats y(4);
  std::vector<int64_t> at(4);
  run_max_pool_indices(s, DType::float32, x.data(), y.data(), at.data(), 1);
  EXPECT_EQ(y, (Floats{5, 9, -1, -2}));
  EXPECT_EQ(at, (std::vector<int64_t>{1, 5, 6, 7}));
  s.column_major = true;
  run_max_pool_indices(s, DType::float32, x.data(), y.data(), at.data(), 2);
  EXPECT_EQ(at, (std::vector<int64_t>{2, 5, 6, 8}));
}

TEST(BoxSelection, KeepsTheBestAndDropsWhatOverlaps) {
  BoxSelection s;
  s.boxes = 4;
  s.limit = 10;
  s.iou_threshold = 0.5F;
  s.score_threshold = 0.05F;
  const Floats boxes{0, 0,  1, 1,  0, 0.1F, 1, 1.1F,
                     0, 10, 1, 11, 5, 5,    4, 4};  // the last with its corners the other way round
  Floats scores{0.9F, 0.8F, 0.7F, 0.01F};
  std::vector<int64_t> rows(12, -7);
  std::vector<int32_t> order(4);
  ASSERT_EQ(run_box_selection(s, boxes.data(), scores.data(), rows.data(), order.data()), 2);
  EXPECT_EQ(std::vector<int64_t>(rows.begin(), rows.begin() + 6), (std::vector<int64_t>{0, 0, 0, 0, 0, 2}));
  s.limit = 1;
  EXPECT_EQ(run_box_selection(s, boxes.data(), scores.data(), rows.data(), order.data()), 1);
  s.limit = 0;
  EXPECT_EQ(run_box_selection(s, boxes.data(), scores.data(), rows.data(), order.data()), 0);
  s.limit = 10;
  s.iou_threshold = 1;
  scores[1] = __builtin_nanf("");
  scores[3] = __builtin_inff();
  ASSERT_EQ(run_box_selection(s, boxes.data(), scores.data(), rows.data(), order.data()), 3)
      << "a score that is no number is no score";
  EXPECT_EQ(rows[2], 3);
}

}  // namespace
}  // namespace walle::kernels
