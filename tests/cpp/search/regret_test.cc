// What a table that was scaled for another machine would take, against what is best by a table fitted there.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "backends/op_case.h"
#include "base/machine.h"
#include "kernels/isa.h"
#include "search/machine_costs.h"

namespace walle::search {
namespace {

using backends::Case;

// The target of bench/search for the median. The worst of zen3's own fit was 1.79 (tables/zen3.inc): a scaled
// table may be no worse than that.
constexpr double kMedianRegret = 1.01;
constexpr double kMeanRegret = 1.02;
constexpr double kWorstRegret = 1.79;

// Image convolutions of codes, as quantised networks have them.
void add_codes(std::vector<Case>& out) {
  const auto filled = [](DType dtype, const Shape& shape, uint8_t byte) {
    Tensor t = *Tensor::zeros(dtype, shape);
    std::memset(t.mutable_data(), byte, static_cast<size_t>(shape.elements()));
    return t;
  };
  const auto conv = [&](int64_t c, int64_t m, int64_t side, int64_t window, int64_t stride, int64_t groups) {
    const int64_t pad = window / 2;
    ir::Attributes a{{"pads", std::vector<int64_t>{pad, pad, pad, pad}},
                     {"strides", std::vector<int64_t>{stride, stride}},
                     {"dilations", std::vector<int64_t>{1, 1}},
                     {"kernel_shape", std::vector<int64_t>{window, window}}};
    a.set("group", groups);
    Tensor scale = *Tensor::allocate(DType::float32, {});
    scale.as_mutable<float>()[0] = 0.5f;
    const Tensor zero = filled(DType::uint8, {}, 7), none = filled(DType::int8, {}, 0);
    std::vector inputs{filled(DType::uint8, {1, c, side, side}, 9),
                       scale,
                       zero,
                       filled(DType::int8, {m, c / groups, window, window}, 3),
                       scale,
                       none,
                       scale,
                       zero};
    std::vector<bool> constant(inputs.size(), true);
    constant[0] = false;
    out.emplace_back("QuantizedConv", a, std::move(inputs), std::move(constant));
  };
  conv(3, 64, 224, 7, 2, 1);
  conv(3, 32, 224, 3, 2, 1);
  for (const int64_t c : {16, 32, 64, 128, 256, 512}) {
    const int64_t side = std::max<int64_t>(7, 56 * 64 / c);
    conv(c, c, side, 3, 1, 1);
    conv(c, 2 * c, side, 3, 2, 1);
    conv(c, 4 * c, side, 1, 1, 1);
    conv(c, c, side, 3, 1, c);
    conv(c, c, side, 5, 1, c);
  }
}

// Layers of the networks of bench/: image convolutions, depthwise and pointwise ones, products, attention's.
std::vector<Case> layers() {
  std::vector<Case> out;
  const auto zeros = [](const Shape& shape) { return *Tensor::zeros(DType::float32, shape); };
  const auto conv = [&](int64_t c, int64_t m, int64_t side, int64_t window, int64_t stride, int64_t groups) {
    const int64_t pad = window / 2;
    ir::Attributes a{{"pads", std::vector<int64_t>{pad, pad, pad, pad}},
                     {"strides", std::vector<int64_t>{stride, stride}},
                     {"dilations", std::vector<int64_t>{1, 1}},
                     {"kernel_shape", std::vector<int64_t>{window, window}}};
    a.set("group", groups);
    out.emplace_back("Conv", a,
                     std::vector{zeros({1, c, side, side}), zeros({m, c / groups, window, window})},
                     std::vector{false, true});
  };
  conv(3, 64, 224, 7, 2, 1);
  conv(3, 32, 224, 3, 2, 1);
  for (const int64_t c : {16, 32, 64, 128, 256, 512}) {
    const int64_t side = std::max<int64_t>(7, 56 * 64 / c);
    for (const int64_t s : {side, side / 2}) {
      conv(c, c, s, 3, 1, 1);
      conv(c, 2 * c, s, 3, 2, 1);
      conv(c, 4 * c, s, 1, 1, 1);
      conv(4 * c, c, s, 1, 1, 1);
      conv(c, c, s, 3, 1, c);
      conv(c, c, s, 3, 2, c);
      conv(c, c, s, 5, 1, c);
    }
  }
  for (const auto& [m, n, k] : {std::array<int64_t, 3>{1, 1000, 2048},
                                {1, 512, 128},
                                {4, 768, 768},
                                {16, 16, 64},
                                {64, 80, 512},
                                {128, 768, 768},
                                {128, 3072, 768},
                                {512, 512, 512}}) {
    out.emplace_back("MatMul", ir::Attributes{}, std::vector{zeros({m, k}), zeros({k, n})},
                     std::vector{false, true});
    out.emplace_back("MatMul", ir::Attributes{}, std::vector{zeros({m, k}), zeros({k, n})});
  }
  add_codes(out);
  return out;
}

struct Regret {
  std::vector<double> all;
  double worst = 1;
  std::string of;
};

// Over all ways of all layouts; conversions between them are the plan's business.
Regret regret(const CostModel& scaled, const CostModel& fitted, int threads) {
  std::vector<const backends::Backend*> hosts{&backends::cpu::cpu_backend()};
  for (const backends::Backend* layout : hosts[0]->layouts()) hosts.push_back(layout);
  Regret out;
  for (const Case& c : layers()) {
    std::vector<backends::Candidate> ways;
    for (const backends::Backend* host : hosts)
      if (host->supports(c.view()))
        for (backends::Candidate& way : host->candidates(c.view(), threads))
          if (!way.reference && way.arithmetic == backends::Arithmetic::own) ways.push_back(std::move(way));
    if (ways.size() < 2) continue;
    const auto by = [](const CostModel& model) {
      return [&](const backends::Candidate& way) { return model.ms(way.features); };
    };
    const auto taken = std::ranges::min_element(ways, {}, by(scaled));
    const auto best = std::ranges::min_element(ways, {}, by(fitted));
    out.all.push_back(fitted.ms(taken->features) / fitted.ms(best->features));
    if (out.all.back() > out.worst) {
      out.worst = out.all.back();
      out.of = std::string(c.name()) + " " + c.view().shape(0).text() + " by " + c.view().shape(1).text() +
               ": " + taken->algorithm + ", best " + best->algorithm;
    }
  }
  std::ranges::sort(out.all);
  return out;
}

double mean(const std::vector<double>& all) {
  double sum = 0;
  for (const double x : all) sum += x;
  return sum / static_cast<double>(all.size());
}

void expect_within_the_bar(const Regret& r, const std::string& what) {
  SCOPED_TRACE(what);
  ASSERT_GT(r.all.size(), 50u);
  const double median = r.all[r.all.size() / 2];
  std::cout << what << ": regret of " << r.all.size() << " choices: median " << median << ", mean "
            << mean(r.all) << ", worst " << r.worst << " (" << r.of << ")\n";
  EXPECT_LE(median, kMedianRegret);
  EXPECT_LE(mean(r.all), kMeanRegret);
  EXPECT_LE(r.worst, kWorstRegret);
}

class RegretOf : public ::testing::Test {
 protected:
  ~RegretOf() override { unsetenv("WALLE_CPU"); }
};

// A machine nobody fitted: its figures may move a choice, and not to what is much worse on a like one.
TEST_F(RegretOf, Zen5ScaledFromZen4) {
  const base::MachineScope scope(*base::machine_from("zen5"));
  const CostModel fitted(*table_named("zen4"));
  std::string set;
  const auto compare = [&](const std::string& what) {
    const auto profile = scaled_profile("zen5", set);
    ASSERT_TRUE(profile);
    for (const int threads : {1, 4})
      expect_within_the_bar(regret(CostModel(cost_tables().front(), *profile), fitted, threads),
                            "zen5 " + what + " on " + std::to_string(threads));
  };
  for (const kernels::Isa isa : kernels::supported_isas()) {
    set = kernels::isa_name(isa);
    setenv("WALLE_CPU", set.c_str(), 1);
    compare(set);
  }
  unsetenv("WALLE_CPU");
  compare(set + " with VNNI and bfloat16, where they are");
}

// How far scaling carries where both tables were fitted.
TEST_F(RegretOf, Zen3ScaledFromZen4) {
  const CostTable& zen3 = *table_named("zen3");
  const backends::DeviceProfile& profile = zen3.profiles.front();
  if (std::ranges::none_of(kernels::supported_isas(),
                           [&](kernels::Isa isa) { return kernels::isa_name(isa) == profile.isa; }))
    GTEST_SKIP() << "candidates of " << profile.isa << " need a machine that has it";
  const base::MachineScope scope(*base::machine_from("zen3"));
  setenv("WALLE_CPU", profile.isa.c_str(), 1);
  expect_within_the_bar(regret(CostModel(*table_named("zen4"), profile), CostModel(zen3), 1), "zen3");
}

}  // namespace
}  // namespace walle::search
