#include "stream/operators/traced_batch.h"

#include <limits>

#include "base/fault_env.h"
#include "stream/batches.h"

namespace walle::stream {
namespace {

using base::FaultEnv;
using namespace testing;
using Origin = TracedBatch::Origin;

Batch rows(const Cells& cells, Sensitivity label) {
  Batch out;
  for (size_t i = 0; i < cells.size(); ++i) out.ts.push_back(static_cast<int64_t>(i));
  out.columns.push_back({.name = "x", .sensitivity = label, .cells = typed(cells)});
  return out;
}

std::unique_ptr<Operator> selecting() { return std::move(*make_select({"x"})); }

std::unique_ptr<Operator> summing() {
  WindowSpec spec;
  spec.kind = WindowKind::whole;
  spec.aggregates = {{.kind = AggregateKind::sum, .column = "x", .out = "sum"}};
  return std::move(*make_window(std::move(spec)));
}

TEST(TracedBatch, RowsByHandArePersonalAndOneEventEach) {
  Batch given = rows({int64_t{1}, int64_t{2}}, Sensitivity::open);
  given.support = {100, 100};
  const TracedBatch traced = TracedBatch::given(given);
  EXPECT_EQ(traced.origin(), Origin::given);
  EXPECT_EQ(traced.rows().columns[0].sensitivity, Sensitivity::personal);
  const auto op = summing();
  ASSERT_TRUE(TracedBatch::push(*op, traced).ok());
  const auto sum = TracedBatch::finish(*op);
  ASSERT_TRUE(sum.ok());
  EXPECT_EQ(sum->origin(), Origin::graph);
  EXPECT_EQ(sum->rows().support_of(0), 2);
  EXPECT_EQ(sum->rows().columns.back().sensitivity, Sensitivity::personal);
}

// A window that holds secrets does not forget it because the newest rows are none.
TEST(TracedBatch, OperatorsKeepTheHighestLabelTheyWereGiven) {
  const auto op = summing();
  ASSERT_TRUE(TracedBatch::push(*op, TracedBatch::given(rows({int64_t{1}}, Sensitivity::secret))).ok());
  ASSERT_TRUE(TracedBatch::push(*op, TracedBatch::given(rows({int64_t{2}}, Sensitivity::personal))).ok());
  ASSERT_TRUE(TracedBatch::push(*op, TracedBatch::supposed({{"x", Sensitivity::open}})).ok());
  const auto sum = TracedBatch::finish(*op);
  ASSERT_TRUE(sum.ok());
  EXPECT_EQ(sum->rows().columns.back().sensitivity, Sensitivity::secret);
}

TEST(TracedBatch, SupposedColumnsTeachNothing) {
  const auto op = selecting();
  ASSERT_TRUE(TracedBatch::push(*op, TracedBatch::supposed({{"x", Sensitivity::secret}})).ok());
  const auto made = TracedBatch::push(*op, TracedBatch::given(rows({int64_t{1}}, Sensitivity::personal)));
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->rows().columns[0].sensitivity, Sensitivity::personal);
}

TEST(TracedBatch, ChangedRowsAreByHand) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Cells cells{1.5, nan, kAbsent, -0.0};
  const auto made = TracedBatch::push(*selecting(), TracedBatch::given(rows(cells, Sensitivity::personal)));
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->confirmed(rows(cells, Sensitivity::open)).origin(), Origin::graph);
  EXPECT_EQ(made->confirmed(rows(cells, Sensitivity::open)).rows().columns[0].sensitivity,
            Sensitivity::personal);
  EXPECT_EQ(made->confirmed(rows(cells, Sensitivity::secret)).rows().columns[0].sensitivity,
            Sensitivity::secret);
  for (size_t i = 0; i < cells.size(); ++i) {
    Cells changed = cells;
    changed[i] = i == 3 ? 0.0 : 7.0;
    EXPECT_EQ(made->confirmed(rows(changed, Sensitivity::open)).origin(), Origin::given) << i;
  }
  Batch later = rows(cells, Sensitivity::open);
  later.ts[0] = 9;
  EXPECT_EQ(made->confirmed(later).origin(), Origin::given);
  Batch renamed = rows(cells, Sensitivity::open);
  renamed.columns[0].name = "y";
  EXPECT_EQ(made->confirmed(renamed).origin(), Origin::given);
}

TEST(TracedBatch, JoinedRowsTakeTheHigherLabelAndTheLowerOrigin) {
  const TracedBatch hand = TracedBatch::given(rows({int64_t{1}}, Sensitivity::secret));
  const auto made =
      TracedBatch::push(*selecting(), TracedBatch::given(rows({int64_t{2}}, Sensitivity::open)));
  const auto both = made->followed_by(hand);
  ASSERT_TRUE(both.ok());
  EXPECT_EQ(both->origin(), Origin::given);
  EXPECT_EQ(both->rows().columns[0].sensitivity, Sensitivity::secret);
  EXPECT_EQ(both->rows().rows(), 2u);
  EXPECT_EQ(TracedBatch().followed_by(*made)->origin(), Origin::graph);
  EXPECT_EQ(made->followed_by(TracedBatch())->origin(), Origin::graph);
  EXPECT_FALSE(made->followed_by(TracedBatch::given(rows({std::string("a")}, Sensitivity::open))).ok())
      << "a text behind numbers";
  Batch other = rows({int64_t{1}}, Sensitivity::open);
  other.columns[0].name = "y";
  EXPECT_FALSE(made->followed_by(TracedBatch::given(other)).ok());
}

// A window gives its columns with each batch and its rows at the end.
TEST(TracedBatch, RowsBehindNoneAreNotCopiedAndKeepTheHigherLabel) {
  const auto given = [](Operator& op, Sensitivity label) {
    return *TracedBatch::push(op, TracedBatch::given(rows({int64_t{1}}, label)));
  };
  const auto op = summing();
  const TracedBatch layout = given(*op, Sensitivity::personal);
  const TracedBatch sum = *TracedBatch::finish(*op);
  ASSERT_EQ(layout.rows().rows(), 0u);
  EXPECT_EQ(&layout.followed_by(sum)->rows(), &sum.rows());
  const TracedBatch secret = given(*summing(), Sensitivity::secret);
  const TracedBatch raised = *secret.followed_by(sum);
  EXPECT_EQ(raised.rows().columns.back().sensitivity, Sensitivity::secret);
  EXPECT_EQ(column(raised.rows(), "sum"), floats({1}));
}

TEST(TracedBatch, RowsOfALogCarryTheLabelsOfTheirTime) {
  FaultEnv env;
  Catalog c;
  ASSERT_TRUE(
      c.declare({"view", EventKind::custom, {{.name = "x", .sensitivity = Sensitivity::secret}}}).ok());
  auto log = EventLog::open(env, "/log", c, {.journal_bytes = 8192});
  ASSERT_TRUE(log.ok());
  const auto put = [&](int64_t x) {
    Event e;
    e.event = *(*log)->catalog().find_event("view");
    e.ts = env.wall_us();
    const std::vector<Value> values{Value::of(x)};
    e.contents = values;
    ASSERT_TRUE((*log)->append(e).ok());
  };
  put(1);
  ASSERT_TRUE((*log)->lower("view", "x", Sensitivity::open).ok());
  put(2);
  const auto label = [&](uint64_t from, int64_t limit) {
    const auto read = TracedBatch::of_log(**log, {"x"}, {.from = from}, limit);
    EXPECT_TRUE(read.ok());
    EXPECT_EQ(read->origin(), Origin::log);
    return read->rows().columns[4].sensitivity;
  };
  EXPECT_EQ(label(0, -1), Sensitivity::secret);
  EXPECT_EQ(label(1, 1), Sensitivity::secret);
  EXPECT_EQ(label(2, -1), Sensitivity::open);
  EXPECT_EQ(cells_of(TracedBatch::of_log(**log, {"x"}, {.from = 2}, -1)->rows().columns[4].cells), ints({2}));
  EXPECT_FALSE(TracedBatch::of_log(**log, {"y"}, {}, -1).ok());
  EXPECT_FALSE(TracedBatch::of_log(**log, {"x", "x"}, {}, -1).ok());
}

}  // namespace
}  // namespace walle::stream
