// Graphs at work: as the operators one by one, however rows are cut, from data or built by hand.
// g++ 12 says of temporaries in nested lists that they may be destroyed before they are made (bug 105562).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include "stream/graph/graph.h"

#include "base/fault_env.h"
#include "stream/random_graph.h"
#include "stream/small_log.h"

namespace walle::stream {
namespace {

using namespace testing;

// The operators themselves in a row, without specs, stages or bytes.
class Chain {
 public:
  explicit Chain(const std::vector<GraphStep>& steps) {
    for (const GraphStep& step : steps) operators_.push_back(std::visit(Maker(), step.what));
  }
  TracedBatch through(size_t first, TracedBatch rows) {
    for (size_t i = first; i < operators_.size(); ++i) {
      if (rows.rows().rows() == 0) return {};
      rows = *TracedBatch::push(*operators_[i], rows);
    }
    return rows;
  }
  TracedBatch run(const TracedBatch& rows) {
    TracedBatch out = through(0, rows);
    for (size_t i = 0; i < operators_.size(); ++i)
      out = *out.followed_by(through(i + 1, *TracedBatch::finish(*operators_[i])));
    return out;
  }

 private:
  using Made = std::unique_ptr<Operator>;
  struct Maker {
    Made operator()(const FilterStep& s) { return std::move(*make_filter(s.predicate)); }
    Made operator()(const MapStep& s) { return std::move(*make_map(s.out, s.left, s.op, s.right)); }
    Made operator()(const SelectStep& s) { return std::move(*make_select(s.columns)); }
    Made operator()(const DedupeStep& s) { return std::move(*make_dedupe(s.keys, s.within_us, s.max_keys)); }
    Made operator()(const WindowSpec& s) { return std::move(*make_window(s)); }
    Made operator()(const StateSpec& s) { return std::move(*make_state(s)); }
    Made operator()(const EncodeStep& s) {
      return std::move(*make_encode(s.columns, s.out, std::make_shared<Doubler>()));
    }
    Made operator()(const NoiseStep&) { return nullptr; }
    Made operator()(const IpvSpec& s) { return std::move(*make_ipv(s)); }
    Made operator()(const JoinStep&) { return nullptr; }
  };
  std::vector<Made> operators_;
};

void expect_same(const TracedBatch& a, const TracedBatch& b) {
  ASSERT_EQ(a.rows().ts, b.rows().ts);
  ASSERT_EQ(a.rows().support, b.rows().support);
  ASSERT_EQ(a.origin(), b.origin());
  ASSERT_EQ(a.rows().columns.size(), b.rows().columns.size());
  for (size_t c = 0; c < a.rows().columns.size(); ++c) {
    const Column &x = a.rows().columns[c], &y = b.rows().columns[c];
    ASSERT_EQ(x.name, y.name);
    ASSERT_EQ(cells_of(x.cells), cells_of(y.cells)) << x.name;
    ASSERT_EQ(x.sensitivity, y.sensitivity) << x.name;
    ASSERT_EQ(x.path, y.path) << x.name;
  }
}

Graph made(const GraphSpec& spec) {
  Doublers resources;
  auto graph = Graph::make(*parse_graph(*graph_bytes(spec)), resources);
  EXPECT_TRUE(graph.ok()) << graph.error().message();
  return std::move(*graph);
}

TEST(Graph, GivesWhatItsOperatorsGiveOneByOne) {
  size_t rows = 0;
  for (uint64_t seed = 0; seed < 3'000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomGraph random(seed);
    const GraphSpec spec = random.graph(false);
    const TracedBatch in = TracedBatch::given(random.rows(40));
    const TracedBatch expected = Chain(spec.steps).run(in);
    const auto out = made(spec).run(in);
    ASSERT_TRUE(out.ok()) << out.error().message();
    expect_same(*out, expected);
    rows += expected.rows().rows();
  }
  EXPECT_GT(rows, 20'000u) << "the graphs hardly gave anything";
}

TEST(Graph, JoinsAsTheFunctionJoinsItsSides) {
  size_t rows = 0;
  for (uint64_t seed = 0; seed < 2'000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomGraph random(seed);
    GraphSpec spec = random.graph();
    const auto* join = spec.steps.empty() ? nullptr : std::get_if<JoinStep>(&spec.steps.back().what);
    if (!join) continue;
    const TracedBatch in = TracedBatch::given(random.rows(40));
    const TracedBatch left = Chain({spec.steps.begin(), spec.steps.end() - 1}).run(in);
    if (left.rows().rows() == 0) continue;
    const TracedBatch right = Chain(join->right).run(in);
    // Without a row it has no columns either, which the graph knows all the same.
    if (right.rows().rows() == 0) continue;
    const auto out = made(spec).run(in);
    ASSERT_TRUE(out.ok()) << out.error().message();
    expect_same(*out, *TracedBatch::joined(left, right, join->keys, join->within_us));
    rows += left.rows().rows();
  }
  EXPECT_GT(rows, 2'000u);
}

TEST(Graph, StreamsCutAnywhereGiveTheSame) {
  for (uint64_t seed = 0; seed < 2'000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomGraph random(seed);
    const GraphSpec spec = random.graph();
    const Batch in = random.rows(40);
    Graph whole = made(spec), cut = made(spec);
    const auto all = whole.run(TracedBatch::given(in));
    ASSERT_TRUE(all.ok()) << all.error().message();
    const TracedBatch& expected = *all;
    TracedBatch out;
    for (size_t at = 0, to = 0; at < in.rows(); at = to) {
      to = std::min(in.rows(), at + static_cast<size_t>(random.below(6)));
      out = *out.followed_by(*cut.push(TracedBatch::given(slice(in, at, to))));
    }
    out = *out.followed_by(*cut.finish());
    expect_same(out, expected);
    ASSERT_EQ(cut.late(), whole.late());
    ASSERT_EQ(cut.outside(), whole.outside());
    ASSERT_EQ(cut.evicted(), whole.evicted());
  }
}

TEST(Graph, JoinsTheSecondInput) {
  const GraphSpec spec{{{JoinStep{{"k"}, 5, true, {{FilterStep{"p > 0"}}}}}}};
  Graph graph = *Graph::make(spec);
  const auto left = TracedBatch::given(batch({1, 10, 20}, {{"k", ints({1, 1, 1})}}));
  const auto right = TracedBatch::given(batch({2, 4, 15}, {{"k", ints({1, 1, 1})}, {"p", ints({7, 0, 9})}}));
  ASSERT_TRUE(graph.push(right, 1).ok());
  EXPECT_EQ(graph.push(left)->rows().rows(), 0u) << "a join waits for its end";
  const TracedBatch out = *graph.finish();
  EXPECT_EQ(column(out.rows(), "p"), (Cells{kAbsent, kAbsent, int64_t{9}})) << "15 + 5: inclusive";
  EXPECT_EQ(out.origin(), TracedBatch::Origin::graph);
  refuses(Graph::make({})->push(left, 1), "input 0, the only one");
  refuses(Graph::make(spec)->push(left, 2), "input 0 or 1");
  Graph without = *Graph::make(spec);
  ASSERT_TRUE(without.push(left).ok());
  refuses(without.finish(), "right side was never given rows");
  Graph empty = *Graph::make(spec);
  ASSERT_TRUE(empty.push(left).ok());
  ASSERT_TRUE(empty.push(TracedBatch::given(batch({}, {{"k", {}}, {"p", {}}})), 1).ok());
  EXPECT_EQ(column(empty.finish()->rows(), "p"), (Cells{kAbsent, kAbsent, kAbsent}));
}

TEST(Graph, AsksForWhatItNamesAndRefusesWithoutIt) {
  const GraphSpec encodes{{{EncodeStep{{"v"}, "code", "models/a.walle"}}}};
  refuses(Graph::make(encodes), "model 'models/a.walle'");
  Doublers resources;
  ASSERT_TRUE(Graph::make(encodes, resources).ok());
  EXPECT_EQ(resources.asked, std::vector<std::string>{"models/a.walle"});
  refuses(Graph::make({{{NoiseStep{{NoiseKind::laplace, "v", 0, 1, 1, 1e-6, 1e-3}, "daily", 1}}}}),
          "account 'daily'");
}

TEST(Graph, SaysWithoutRowsWhichColumnsItMakesAndHowSecretTheyAre) {
  const GraphSpec spec{{{JoinStep{{"k"}, 0, false, {{MapStep{"r", "x", '=', ""}}, {SelectStep{{"k", "r"}}}}}},
                        {NoiseStep{{NoiseKind::laplace, "r", 0, 1, 1, 1e-6, 1e-3}, "daily", 1}},
                        {EncodeStep{{"x"}, "code", "m"}}}};
  const auto labels = TracedBatch::LabelsByName{{"k", Sensitivity::open}, {"x", Sensitivity::secret}};
  const auto rows = columns_made(spec, labels);
  ASSERT_TRUE(rows.ok()) << rows.error().message();
  const Batch& out = rows->rows();
  ASSERT_EQ(out.columns.size(), 3u);
  EXPECT_EQ(out.columns[1].name, "r");
  EXPECT_EQ(out.columns[1].sensitivity, Sensitivity::open);
  EXPECT_EQ(out.columns[1].path, "x > map r > as-of join > noise");
  EXPECT_EQ(out.columns[2].sensitivity, Sensitivity::secret) << "encoding hides nothing";
  EXPECT_EQ(out.columns[2].path, "x > encode");
  refuses(columns_made({{{SelectStep{{"y"}}}}}, labels), "column 'y'");
  // What is asked is no row of anybody: no account is spent from, no encoder run.
  EXPECT_EQ(out.rows(), 0u);
}

TEST(Graph, LabelsOfALogAreTheCatalogues) {
  const auto labels = TracedBatch::labels_of_log(marks(), {"who"});
  EXPECT_EQ(labels->at("who"), Sensitivity::personal);
  EXPECT_EQ(labels->size(), 5u);
  const auto unknown = TracedBatch::labels_of_log(marks(), {"wo"});
  refuses(unknown, "did you mean 'who'?");
  EXPECT_EQ(unknown.error().kind(), base::ErrorKind::no_such_key);
}

TEST(Graph, JoinsKeepABoundedNumberOfRows) {
  Graph graph = *Graph::make({{{JoinStep{{"k"}, 0, true, {}}}}});
  Batch many;
  many.ts.resize(kMaxJoinRows / 2 + 1);
  many.columns.push_back({.name = "k", .cells = typed(Cells(many.ts.size(), int64_t{1}))});
  const TracedBatch rows = TracedBatch::given(std::move(many));
  ASSERT_TRUE(graph.push(rows, 1).ok());
  refuses(graph.push(rows, 1), "rows that wait for a join");
}

}  // namespace
}  // namespace walle::stream
