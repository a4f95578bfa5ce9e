// Features to time: what is added, what is shared, what no table knows, and another machine's figures.
#include "search/cost_model.h"

#include <algorithm>
#include <limits>
#include <set>

#include <gtest/gtest.h>

namespace walle::search {
namespace {

using backends::DeviceProfile;
using backends::Features;
using backends::Quantity;

const CostTable& table() {
  static const CostTable made{
      "made",
      "",
      {{"wide", 1, 1, 1, 1, 1, 1}},
      {{"k", "wide", {1, 2, 3, 4, 5, 6, 7, 8}}, {"k", "", {10, 0, 0, 0, 0, 0, 0, 0}}}};
  return made;
}

Features features(std::string_view isa, Quantity q, double amount, int threads = 1) {
  Features f;
  f.kernel = "k";
  f.isa = isa;
  f.threads = threads;
  f[q] = amount;
  return f;
}

TEST(CostModel, AddsWhatEachQuantityCosts) {
  const CostModel model(table());
  for (int q = 0; q < kPriced; ++q)
    EXPECT_DOUBLE_EQ(model.ms(features("wide", static_cast<Quantity>(q), 1e6)), q + 1) << q;
  EXPECT_DOUBLE_EQ(model.ms(features("", Quantity::flop, 1e6)), 10);
}

TEST(CostModel, ThreadsShareAllButStarts) {
  const CostModel model(table());
  EXPECT_DOUBLE_EQ(model.ms(features("wide", Quantity::flop, 1e6, 2)), 0.5);
  EXPECT_DOUBLE_EQ(model.ms(features("wide", Quantity::calls, 1e6, 2)), 8);
  EXPECT_EQ(model.ms(features("wide", Quantity::launches, 1, 2)),
            model.ms(features("wide", Quantity::launches, 1)));
}

TEST(CostModel, IsFinite) {
  const CostModel model(table());
  EXPECT_EQ(model.ms(features("wide", Quantity::flop, std::numeric_limits<double>::infinity())),
            std::numeric_limits<double>::max());
  EXPECT_GT(model.copy_ms(0), 0);
  EXPECT_GT(model.copy_ms(1'000'000'000), model.copy_ms(1'000'000));
}

TEST(CostModel, PricesKernelsThatNoTableLists) {
  const CostModel model(table());
  Features f = features("", Quantity::flop, 1e6);
  f.kernel = "unknown";
  const double scalar = model.ms(f);
  f.isa = "wide";
  EXPECT_GT(model.ms(f), 0);
  EXPECT_LT(model.ms(f), scalar) << "vectors are faster";
}

TEST(CostModel, ScalesByTheRatioOfProfiles) {
  DeviceProfile here = table().profiles[0];
  EXPECT_DOUBLE_EQ(CostModel(table(), here).ms(features("wide", Quantity::flop, 1e6)), 1)
      << "the same machine";
  here.flop = 2;
  here.l3_byte = 5;
  here.step = 3;
  const CostModel model(table(), here);
  EXPECT_DOUBLE_EQ(model.ms(features("wide", Quantity::flop, 1e6)), 2);
  EXPECT_DOUBLE_EQ(model.ms(features("wide", Quantity::l1_bytes, 1e6)), 2);
  EXPECT_DOUBLE_EQ(model.ms(features("wide", Quantity::l3_bytes, 1e6)), 20);
  EXPECT_DOUBLE_EQ(model.ms(features("wide", Quantity::calls, 1e6)), 24);
  EXPECT_DOUBLE_EQ(model.ms(features("", Quantity::flop, 1e6)), 30) << "scalar loops go by steps";
}

// Of another set: not this machine's. Of what stands beside a set: whose it is that can run it.
TEST(CostModel, ScalesRowsOfWhatStandsBesideASet) {
  CostTable with = table();
  with.profiles.push_back({"narrow", 9, 1, 1, 1, 1, 1});
  with.rows.push_back({"k", "narrow", {77}});
  with.rows.push_back({"k", "wide_dot", {0.5}});
  DeviceProfile here = table().profiles[0];
  here.flop = 2;
  const CostModel model(with, here);
  EXPECT_DOUBLE_EQ(model.ms(features("wide_dot", Quantity::flop, 1e6)), 1);
  EXPECT_LT(model.ms(features("narrow", Quantity::flop, 1e6)), 1) << "a vector kernel that nobody knows";
}

// Nothing follows from what the set beside it does.
TEST(CostModel, ScalesProductsOfBfloat16ByTheirOwnRate) {
  CostTable with = table();
  with.rows.push_back({"k", "wide_bf16", {0.5}});
  DeviceProfile here = table().profiles[0];
  here.flop = 2;
  EXPECT_DOUBLE_EQ(CostModel(with, here).ms(features("wide_bf16", Quantity::flop, 1e6)), 1) << "not measured";
  here.bf16_flop = 8;
  EXPECT_DOUBLE_EQ(CostModel(with, here).ms(features("wide_bf16", Quantity::flop, 1e6)), 1) << "not fitted";
  with.profiles[0].bf16_flop = 0.5;
  EXPECT_DOUBLE_EQ(CostModel(with, here).ms(features("wide_bf16", Quantity::flop, 1e6)), 8);
  EXPECT_DOUBLE_EQ(CostModel(with, here).ms(features("wide", Quantity::flop, 1e6)), 2);
}

// A table with rows of such products says at which rate they were fitted.
TEST(CostTables, SayTheRateOfBfloat16) {
  for (const CostTable& t : cost_tables()) {
    const bool rows = std::ranges::any_of(t.rows, [](const CostRow& r) { return r.isa.ends_with("_bf16"); });
    EXPECT_EQ(rows, std::ranges::any_of(t.profiles, [](const DeviceProfile& p) { return p.bf16_flop > 0; }))
        << t.name;
  }
}

TEST(CostModel, FingerprintTellsModelsApart) {
  EXPECT_EQ(CostModel(table()).fingerprint(), CostModel(table()).fingerprint());
  CostTable other = table();
  other.rows[0].ns[3] *= 1.0001;
  EXPECT_NE(CostModel(table()).fingerprint(), CostModel(other).fingerprint());
}

TEST(CostTables, AreWholeAndNamed) {
  ASSERT_FALSE(cost_tables().empty());
  for (const CostTable& t : cost_tables()) {
    EXPECT_FALSE(t.name.empty());
    EXPECT_FALSE(t.profiles.empty());
    for (const DeviceProfile& p : t.profiles)
      for (const double figure : {p.flop, p.step, p.l1_byte, p.l2_byte, p.l3_byte, p.memory_byte})
        EXPECT_GT(figure, 0) << p.isa;
    for (const CostRow& r : t.rows) {
      EXPECT_FALSE(r.kernel.empty());
      for (const double ns : r.ns) EXPECT_GE(ns, 0) << r.kernel;
    }
    // Every kernel and set once: of two rows one would never be looked at.
    std::set<std::pair<std::string_view, std::string_view>> named;
    for (const CostRow& r : t.rows)
      EXPECT_TRUE(named.emplace(r.kernel, r.isa).second) << r.kernel << ' ' << r.isa;
  }
}

}  // namespace
}  // namespace walle::search
