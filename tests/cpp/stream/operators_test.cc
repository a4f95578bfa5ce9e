// Operators that look at one row, at a key's rows, or at two batches.
#include "stream/batches.h"

namespace walle::stream {
namespace {

using namespace testing;

Batch rows() {
  return batch({1, 2, 3, 4}, {{"price", {int64_t{5}, 2.5, kAbsent, int64_t{-4}}},
                              {"count", ints({2, 0, 3, 4})},
                              {"shop", texts({"a", "b", "a", "b"})}});
}

TEST(Filter, KeepsRowsForWhichThePredicateHolds) {
  const struct {
    const char* predicate;
    std::vector<int64_t> kept;
  } cases[] = {{"price > 2", {1, 2}},
               {"price <= 2.5", {2, 4}},
               {"shop == \"b\"", {2, 4}},
               {"not price > 2 and count >= 3", {3, 4}},
               {"count in (0, 2)", {1, 2}}};
  for (const auto& c : cases) {
    auto op = make_filter(c.predicate);
    ASSERT_TRUE(op.ok()) << op.error().message();
    const Batch out = push(**op, rows());
    EXPECT_EQ(out.ts, c.kept) << c.predicate;
    EXPECT_EQ(out.columns.size(), 3u);
  }
  refuses((*make_filter("weight > 1"))->push(rows()), "one of: price, count, shop");
  EXPECT_FALSE(make_filter("price >").ok());
}

TEST(Map, ComputesAColumn) {
  const struct {
    char op;
    const char* right;
    Cells expected;
  } cases[] = {{'+', "count", {7.0, 2.5, kAbsent, 0.0}},
               {'-', "1.5", {3.5, 1.0, kAbsent, -5.5}},
               {'*', "count", {10.0, 0.0, kAbsent, -16.0}},
               {'/', "count", {2.5, kAbsent, kAbsent, -1.0}},  // nothing is divided by 0
               {'/', "0", {kAbsent, kAbsent, kAbsent, kAbsent}},
               {'=', "", {int64_t{5}, 2.5, kAbsent, int64_t{-4}}}};
  for (const auto& c : cases)
    EXPECT_EQ(column(push(**make_map("out", "price", c.op, c.right), rows()), "out"), c.expected) << c.op;
  const Batch replaced = push(**make_map("price", "price", '*', "2"), rows());
  EXPECT_EQ(replaced.columns.size(), 3u);
  EXPECT_EQ(column(replaced, "price"), (Cells{10.0, 5.0, kAbsent, -8.0}));
  EXPECT_EQ(column(push(**make_map("out", "shop", '+', "1"), rows()), "out"), Cells(4))
      << "texts are no numbers";
  refuses(make_map("out", "price", '%', "2"), "one of + - * / =");
  refuses((*make_map("out", "price", '+', "weight"))->push(rows()), "weight");
}

TEST(Map, TakesTheStricterLabelAndTellsThePath) {
  Batch in = rows();
  in.columns[0].sensitivity = Sensitivity::open, in.columns[1].sensitivity = Sensitivity::secret;
  const Batch out = push(**make_map("sum", "price", '+', "count"), in);
  EXPECT_EQ(out.columns[3].sensitivity, Sensitivity::secret);
  EXPECT_EQ(out.columns[3].path, "price > map sum (with count)");
  EXPECT_EQ(push(**make_map("twice", "price", '*', "2"), in).columns[3].sensitivity, Sensitivity::open);
}

TEST(Select, KeepsTheNamedColumnsInThatOrder) {
  const Batch out = push(**make_select({"shop", "price"}), rows());
  ASSERT_EQ(out.columns.size(), 2u);
  EXPECT_EQ(out.columns[0].name, "shop");
  EXPECT_EQ(out.ts, rows().ts);
  refuses((*make_select({"weight"}))->push(rows()), "weight");
}

TEST(Dedupe, LetsTheFirstOfAKeyThrough) {
  const Batch in = batch({0, 5, 9, 10, 20, 21}, {{"id", ints({1, 1, 2, 1, 1, 2})}});
  EXPECT_EQ(push(**make_dedupe({"id"}, 0), in).ts, (std::vector<int64_t>{0, 9}));
  EXPECT_EQ(push(**make_dedupe({"id"}, 9), in).ts, (std::vector<int64_t>{0, 9, 10, 20, 21}));
  EXPECT_EQ(push(**make_dedupe({"id"}, 10), in).ts, (std::vector<int64_t>{0, 9, 20, 21}))
      << "within is inclusive";
  EXPECT_EQ(push(**make_dedupe({}, 0), in).ts, (std::vector<int64_t>{0}))
      << "without keys all rows are alike";
}

TEST(Dedupe, ForgetsTheKeyNotSeenLongestAndCountsIt) {
  auto op = *make_dedupe({"id"}, 0, 2);
  EXPECT_EQ(push(*op, batch({0, 1, 2, 3, 4, 5}, {{"id", ints({1, 2, 1, 3, 1, 2})}})).ts,
            (std::vector<int64_t>{0, 1, 3, 5}));
  EXPECT_EQ(op->evicted(), 2u);
  refuses(make_dedupe({"id"}, 0, 0), "no key");
}

TEST(State, RemembersPerKey) {
  const Batch in = batch({0, 1'000'000, 1'500'000, 4'000'000},
                         {{"id", ints({1, 2, 1, 1})}, {"v", {2.0, 3.0, kAbsent, 7.0}}});
  const auto run = [&](StateKind kind, AggregateKind aggregate = AggregateKind::count) {
    return column(push(**make_state({kind, {"id"}, "v", {aggregate, "v", "o"}, "o", 8}), in), "o");
  };
  EXPECT_EQ(run(StateKind::previous), (Cells{kAbsent, kAbsent, 2.0, kAbsent}));
  EXPECT_EQ(run(StateKind::first), (Cells{2.0, 3.0, 2.0, 2.0}));
  EXPECT_EQ(run(StateKind::since), (Cells{kAbsent, kAbsent, 1.5, 2.5}));
  EXPECT_EQ(run(StateKind::running, AggregateKind::sum), (Cells{2.0, 3.0, 2.0, 9.0}));
  EXPECT_EQ(run(StateKind::running), ints({1, 1, 1, 2})) << "an absent value is not counted";
  EXPECT_FALSE(make_state({StateKind::previous, {"id"}, "", {}, "o", 8}).ok());
  EXPECT_FALSE(make_state({StateKind::first, {"id"}, "v", {}, "o", 0}).ok());
}

TEST(State, ForgetsTheKeyNotSeenForLongestAndCountsIt) {
  auto op = make_state({StateKind::previous, {"id"}, "id", {}, "o", 2});
  const Batch out = push(
      **op,
      batch({1, 2, 3, 4, 5, 6}, {{"id", ints({1, 2, 1, 3, 1, 2})}}));  // 3 takes 2's place, then 2 takes 3's
  EXPECT_EQ(column(out, "o"), (Cells{kAbsent, kAbsent, int64_t{1}, kAbsent, int64_t{1}, kAbsent}));
  EXPECT_EQ((*op)->evicted(), 2u);
}

class Halves final : public Encoder {  // of each pair of floats the mean
 public:
  Status run(std::span<const float> in, size_t rows, Floats& out) override {
    calls.push_back(rows);
    for (size_t i = 0; i + 1 < in.size(); i += 2) out.push_back((in[i] + in[i + 1]) / 2);
    return {};
  }
  std::vector<size_t> calls;
};

TEST(Encode, GathersNumbersAndVectorsOfAllRowsAndReplacesThem) {
  auto encoder = std::make_shared<Halves>();
  auto op = make_encode({"v", "n"}, "code", encoder);
  const Batch in = batch(
      {1, 2}, {{"v", {Floats{1, 3, 5}, Floats{2, 4, 6}}}, {"n", {int64_t{7}, 8.0}}, {"id", ints({1, 2})}});
  const Batch out = push(**op, in);
  EXPECT_EQ(column(out, "code"), (Cells{Floats{2, 6}, Floats{3, 7}}));
  EXPECT_EQ(out.columns.size(), 2u) << "the encoded columns go";
  EXPECT_EQ(out.columns[1].path, "v, n > encode");
  EXPECT_EQ(encoder->calls, (std::vector<size_t>{2})) << "one call for all rows";
  EXPECT_EQ(push(**op, slice(in, 0, 0)).rows(), 0u);
  refuses((*op)->push(batch({1, 2}, {{"v", {Floats{1}, Floats{1, 2}}}, {"n", ints({1, 2})}})),
          "encode, row 1");
  refuses((*op)->push(batch({1}, {{"v", texts({"x"})}, {"n", ints({1})}})), "no number in column 'v'");
  refuses((*make_encode({"n"}, "code", encoder))->push(batch({1}, {{"n", ints({1})}})),
          "0 floats for 1 rows");
  EXPECT_FALSE(make_encode({}, "code", encoder).ok());
  EXPECT_FALSE(make_encode({"n"}, "code", nullptr).ok());
}

TEST(AsOfJoin, TakesTheNewestEarlierRowOfTheKey) {
  const Batch left = batch({10, 10, 25, 5}, {{"id", ints({1, 2, 1, 1})}, {"v", ints({1, 2, 3, 4})}});
  // In any order; of two at the same time the later row is the newer.
  const Batch right =
      batch({20, 9, 10, 10, 11}, {{"id", ints({1, 1, 1, 1, 2})}, {"v", ints({200, 90, 100, 101, 110})}});
  const auto joined = [&](int64_t within) {
    return column(*as_of_join(left, right, {"id"}, within), "v_right");
  };
  EXPECT_EQ(joined(0), (Cells{int64_t{101}, kAbsent, int64_t{200}, kAbsent}));
  EXPECT_EQ(joined(5), (Cells{int64_t{101}, kAbsent, int64_t{200}, kAbsent})) << "within is inclusive";
  EXPECT_EQ(joined(4), (Cells{int64_t{101}, kAbsent, kAbsent, kAbsent}));
  EXPECT_EQ(as_of_join(left, right, {"id"}, 0)->columns.size(), 3u) << "keys are not repeated";
  refuses(as_of_join(left, right, {"weight"}, 0), "as-of join, left");
}

TEST(Columns, HoldOneKindOfValueForEver) {
  const auto of = [](const Cells& v) { return batch({1, 2}, {{"id", ints({1, 1})}, {"v", v}}); };
  std::vector<std::unique_ptr<Operator>> all;
  all.push_back(std::move(*make_state({StateKind::previous, {"id"}, "v", {}, "o", 8})));
  all.push_back(
      std::move(*make_window({WindowKind::whole, 0, 0, 0, 0, {"v"}, {{AggregateKind::count, "", "n"}}})));
  for (const auto& op : all) {
    push(*op, of({kAbsent, kAbsent}));
    push(*op, of({int64_t{1}, kAbsent}));
    push(*op, of({0.5, true}));
    refuses(op->push(of(texts({"a", "b"}))), "column 'v' of type text");
  }
  const Batch keyed = finish(*all[1]);
  EXPECT_EQ(column(keyed, "v"), (Cells{kAbsent, 0.5, int64_t{1}})) << "1, 1.0 and true are one key";
  EXPECT_EQ(column(keyed, "n"), ints({3, 1, 2}));
}

TEST(Times, BeyondWhatCanBeCountedAreRefused) {
  const auto at = [](int64_t ts) {
    return batch({0, ts},
                 {{"id", ints({1, 1})}, {"event", texts({"a", "b"})}, {"page_instance", ints({1, 1})}});
  };
  std::vector<std::unique_ptr<Operator>> all;
  all.push_back(std::move(*make_dedupe({"id"}, 5)));
  all.push_back(std::move(*make_state({StateKind::since, {"id"}, "", {}, "o", 8})));
  for (const WindowKind kind :
       {WindowKind::tumbling, WindowKind::sliding, WindowKind::session, WindowKind::page, WindowKind::whole})
    all.push_back(std::move(*make_window(
        {kind, kMaxTimeUs, kMaxTimeUs, kMaxTimeUs, kMaxTimeUs, {"id"}, {{AggregateKind::count, "", "n"}}})));
  for (const auto& op : all) {
    for (const int64_t ts : {INT64_MIN, -kMaxTimeUs - 1, kMaxTimeUs + 1, INT64_MAX})
      refuses(op->push(at(ts)), "in row 1");
    for (const int64_t ts : {-kMaxTimeUs, kMaxTimeUs}) EXPECT_TRUE(op->push(at(ts)).ok());
    EXPECT_TRUE(op->finish().ok());
  }
  refuses(as_of_join(at(INT64_MIN), at(1), {"id"}, 0), "as-of join, left");
  refuses(as_of_join(at(1), at(INT64_MAX), {"id"}, 0), "as-of join, right");
  for (const int64_t us : {int64_t{-1}, kMaxTimeUs + 1}) {
    refuses(as_of_join(at(1), at(1), {"id"}, us), "within " + std::to_string(us));
    refuses(make_dedupe({"id"}, us), "within " + std::to_string(us));
    EXPECT_FALSE(make_window({WindowKind::tumbling, us, 0, 0, 0, {}, {}}).ok());
    EXPECT_FALSE(make_window({WindowKind::tumbling, 10, 0, us, 0, {}, {}}).ok());
    EXPECT_FALSE(make_window({WindowKind::tumbling, 10, 0, 0, us, {}, {}}).ok());
  }
}

}  // namespace
}  // namespace walle::stream
