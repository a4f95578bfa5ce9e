// Random streams, cut anywhere: what an operator gives depends on the rows and their order alone. And fixed
// windows beside their definition.
#include <map>
#include <random>

#include "stream/batches.h"

namespace walle::stream {
namespace {

using namespace testing;

constexpr AggregateKind kKinds[] = {AggregateKind::count,    AggregateKind::sum,   AggregateKind::mean,
                                    AggregateKind::min,      AggregateKind::max,   AggregateKind::var,
                                    AggregateKind::distinct, AggregateKind::top_k, AggregateKind::histogram};

class Scale final : public Encoder {
 public:
  Status run(std::span<const float> in, size_t, Floats& out) override {
    for (const float f : in) out.push_back(2 * f);
    return {};
  }
};

struct Case {
  explicit Case(uint64_t seed) : random(seed) {}
  int64_t below(int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); }

  // Mostly forward in time, sometimes far back; few keys; some values absent.
  Batch stream(size_t n) {
    Cells id, v, instance, event;
    std::vector<int64_t> ts;
    int64_t now = below(100) - 50;
    for (size_t i = 0; i < n; ++i) {
      now += below(8);
      ts.push_back(now - (below(5) ? 0 : below(60)));
      id.emplace_back(below(3)), instance.emplace_back(below(4));
      if (below(6))
        v.emplace_back(static_cast<double>(below(20)) / 4);
      else
        v.emplace_back();
      event.emplace_back(std::string(below(5) ? "click" : "page_exit"));
    }
    return batch(std::move(ts), {{"id", id}, {"v", v}, {"page_instance", instance}, {"event", event}});
  }

  WindowSpec window(WindowKind kind) {
    WindowSpec s{kind, 1 + below(30), 1 + below(20), below(2) * below(30), below(2) * below(40), {}, {}};
    if (below(2)) s.keys = {"id"};
    for (const AggregateKind a : kKinds)
      s.aggregates.push_back(
          {a, a == AggregateKind::count ? "" : "v", "a" + std::to_string(s.aggregates.size()), 3, 0, 4});
    return s;
  }

  std::unique_ptr<Operator> make(int which) {
    switch (which) {
      case 0: return std::move(*make_filter("v > 2 or id == 1"));
      case 1: return std::move(*make_map("out", "v", "+-*/="[below(5)], below(2) ? "id" : "3"));
      case 2: return std::move(*make_dedupe({"id"}, below(2) * below(40)));
      case 3: return std::move(*make_encode({"id", "page_instance"}, "code", std::make_shared<Scale>()));
      case 4: return std::move(*make_select({"v", "id"}));
      default: break;
    }
    if (which == 14)
      return std::move(*make_ipv(
          {.depth = "v", .item = "id", .idle_us = 1 + below(40), .disorder_us = below(2) * below(30)}));
    if (which < 9) {
      const auto kind = static_cast<StateKind>(which - 5);
      return std::move(*make_state({kind,
                                    {"id", "page_instance"},
                                    "v",
                                    {kKinds[below(9)], "v", "o"},
                                    "o",
                                    1 + static_cast<size_t>(below(12))}));
    }
    return std::move(*make_window(window(static_cast<WindowKind>(which - 9))));
  }

  std::mt19937_64 random;
};
constexpr int kOperators = 15;

struct Output {
  Batch rows;
  uint64_t late, outside, evicted;
};
Output run(Operator& op, const Batch& in, const std::vector<size_t>& cuts) {
  Output out{};
  size_t from = 0;
  for (const size_t to : cuts) append(out.rows, push(op, slice(in, from, to))), from = to;
  append(out.rows, push(op, slice(in, from, in.rows())));
  append(out.rows, finish(op));
  out.late = op.late(), out.outside = op.outside(), out.evicted = op.evicted();
  return out;
}

TEST(Cut, StreamsCutAnywhereGiveTheSame) {
  size_t rows = 0;
  uint64_t late = 0;
  for (uint64_t seed = 0; seed < 200; ++seed)
    for (int which = 0; which < kOperators; ++which) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", operator " + std::to_string(which));
      Case one(seed), same(seed);
      const Batch in = one.stream(60);
      EXPECT_EQ(same.stream(60).ts, in.ts);
      const auto whole = one.make(which), cut = same.make(which);
      std::vector<size_t> cuts;
      for (size_t at = 0; at <= in.rows(); ++at)
        if (one.below(4) == 0)
          cuts.insert(cuts.end(), 1 + static_cast<size_t>(one.below(2)), at);  // empty pieces, too
      const Output a = run(*whole, in, {}), b = run(*cut, in, cuts);
      ASSERT_EQ(a.rows.ts, b.rows.ts);
      ASSERT_EQ(a.rows.support, b.rows.support);
      for (size_t c = 0; c < a.rows.columns.size(); ++c)
        ASSERT_EQ(cells_of(a.rows.columns[c].cells), cells_of(b.rows.columns[c].cells))
            << a.rows.columns[c].name;
      ASSERT_EQ(a.late, b.late);
      ASSERT_EQ(a.outside, b.outside);
      ASSERT_EQ(a.evicted, b.evicted);
      rows += a.rows.rows(), late += a.late;
    }
  EXPECT_GT(rows, 50'000u) << "the streams hardly gave anything";
  EXPECT_GT(late, 1'000u);
}

// By definition: row r is in the windows [k * slide, k * slide + size) that hold its time and whose end plus
// lateness the rows before r have not passed; the newest revision of each tells all its rows.
TEST(Cut, FixedWindowsAreWhatTheyAreDefinedToBe) {
  for (uint64_t seed = 0; seed < 200; ++seed)
    for (const WindowKind kind : {WindowKind::tumbling, WindowKind::sliding}) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      Case one(seed);
      const Batch in = one.stream(60);
      WindowSpec s = one.window(kind);
      s.keys.clear(), s.aggregates = {{AggregateKind::count, "", "n"}, {AggregateKind::sum, "v", "s"}};
      const int64_t slide = kind == WindowKind::sliding ? s.slide_us : s.size_us;
      std::map<int64_t, std::pair<int64_t, double>> expected;
      uint64_t late = 0;
      int64_t newest = INT64_MIN / 2;
      for (size_t r = 0; r < in.rows(); ++r) {
        bool lost = false;
        for (int64_t k = -200; k <= 1000; ++k) {
          const int64_t start = k * slide;
          if (in.ts[r] < start || in.ts[r] >= start + s.size_us) continue;
          if (newest - s.disorder_us >= start + s.size_us + s.lateness_us) {
            lost = true;
            continue;
          }
          auto& w = expected[start];
          ++w.first, w.second += in.columns[1].cells[r].number().value_or(0);
        }
        late += lost;
        newest = std::max(newest, in.ts[r]);
      }
      auto op = make_window(s);
      const Output out = run(**op, in, {});
      std::map<int64_t, std::pair<int64_t, double>> given;
      for (size_t r = 0; r < out.rows.rows(); ++r)
        given[column(out.rows, "window_start")[r].cell().i] = {column(out.rows, "n")[r].cell().i,
                                                               column(out.rows, "s")[r].cell().d};
      ASSERT_EQ(given, expected);
      ASSERT_EQ(out.late, late);
    }
}

// Aggregates of two parts, merged, are those of the whole.
TEST(Aggregates, OfTwoPartsMergedAreThoseOfTheWhole) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Case one(seed);
    const Cells values = column(one.stream(1 + static_cast<size_t>(one.below(60))), "v");
    const auto middle = static_cast<size_t>(one.below(static_cast<int64_t>(values.size()) + 1));
    for (const AggregateKind kind : kKinds) {
      const AggregateSpec spec{kind, "v", "o", 3, 0, 4};
      Accumulator whole, left, right;
      for (size_t i = 0; i < values.size(); ++i)
        whole.add(spec, values[i].cell()), (i < middle ? left : right).add(spec, values[i].cell());
      left.merge(spec, right);
      const Scalar a = whole.result(spec), b = left.result(spec);
      // Quarters below 5 add exactly; mean and variance round once per step.
      if (a.cell().is(ColumnType::real))
        ASSERT_NEAR(a.cell().d, b.cell().d, 1e-12) << static_cast<int>(kind);
      else
        ASSERT_EQ(a, b) << static_cast<int>(kind);
    }
  }
}

TEST(Aggregates, OfKnownValues) {
  const auto of = [](AggregateSpec spec, const Cells& cells) {
    Accumulator a;
    for (const Scalar& c : cells) a.add(spec, c.cell());
    return a.result(spec);
  };
  const Cells v = {1.0, kAbsent, int64_t{2}, 6.0};
  EXPECT_EQ(of({AggregateKind::count, "v", ""}, v), Scalar(int64_t{3}));
  EXPECT_EQ(of({AggregateKind::count, "", ""}, v), Scalar(int64_t{4})) << "rows, not values";
  EXPECT_EQ(of({AggregateKind::sum, "v", ""}, v), Scalar(9.0));
  EXPECT_EQ(of({AggregateKind::mean, "v", ""}, v), Scalar(3.0));
  EXPECT_EQ(of({AggregateKind::min, "v", ""}, v), Scalar(1.0));
  EXPECT_EQ(of({AggregateKind::max, "v", ""}, v), Scalar(6.0));
  EXPECT_EQ(of({AggregateKind::var, "v", ""}, v), Scalar(14.0 / 3));
  EXPECT_EQ(of({AggregateKind::top_k, "v", "", 2}, texts({"b", "a", "c", "c"})),
            Scalar(std::string("c:2,a:1")));
  EXPECT_EQ(of({AggregateKind::histogram, "v", "", 3, 0, 3}, floats({-5, 0, 1.5, 2, 99})),
            Scalar(std::string("2,1,2")));
  EXPECT_EQ(of({AggregateKind::max, "v", ""}, {kAbsent}), kAbsent);
  Cells many;
  for (int64_t i = 0; i < 20'000; ++i) many.emplace_back(i % 5000);
  const auto distinct = of({AggregateKind::distinct, "v", ""}, many).cell().i;
  EXPECT_NEAR(static_cast<double>(distinct), 5000, 5000 * 0.1);  // three standard errors
  EXPECT_FALSE(check_aggregate({AggregateKind::histogram, "v", "", 3, 1, 1}).ok());
  EXPECT_FALSE(check_aggregate({AggregateKind::top_k, "v", "", 0}).ok());
}

}  // namespace
}  // namespace walle::stream
