// Windows: which rows are in which, when they close, what lateness revises and what is counted.
#include "stream/batches.h"

namespace walle::stream {
namespace {

using namespace testing;

struct Row {
  int64_t start, end, revision, count;
  friend bool operator==(const Row&, const Row&) = default;
  friend void PrintTo(const Row& r, std::ostream* out) {
    *out << "{" << r.start << ".." << r.end << " rev " << r.revision << ": " << r.count << "}";
  }
};
using Rows = std::vector<Row>;

Rows read(const Batch& b) {
  Rows out;
  for (size_t r = 0; r < b.rows(); ++r) {
    const auto at = [&](const char* name) { return column(b, name)[r].cell().i; };
    out.push_back({at("window_start"), at("window_end"), at("revision"), at("n")});
    EXPECT_EQ(b.ts[r], at("window_end"));
    EXPECT_EQ(b.support[r], at("n"));
  }
  return out;
}

std::unique_ptr<Operator> window(WindowKind kind, int64_t size, int64_t slide = 0, int64_t disorder = 0,
                                 int64_t lateness = 0, std::vector<std::string> keys = {}) {
  return std::move(*make_window(
      {kind, size, slide, disorder, lateness, std::move(keys), {{AggregateKind::count, "", "n"}}}));
}
Batch at(std::vector<int64_t> ts) { return batch(std::move(ts), {}); }

TEST(Tumbling, EveryRowIsInOneWindow) {
  auto w = window(WindowKind::tumbling, 10);
  EXPECT_EQ(read(push(*w, at({-11, -10, -1, 0, 9, 10}))),
            (Rows{{-20, -10, 0, 1}, {-10, 0, 0, 2}, {0, 10, 0, 2}}));
  EXPECT_EQ(read(finish(*w)), (Rows{{10, 20, 0, 1}}));
  EXPECT_EQ(w->late(), 0u);
}

TEST(Sliding, ARowIsInEveryWindowThatCoversIt) {
  auto w = window(WindowKind::sliding, 10, 4);
  EXPECT_EQ(read(push(*w, at({0, 9}))), (Rows{{-8, 2, 0, 1}, {-4, 6, 0, 1}}));
  EXPECT_EQ(read(finish(*w)), (Rows{{0, 10, 0, 2}, {4, 14, 0, 1}, {8, 18, 0, 1}}));
  EXPECT_FALSE(make_window({WindowKind::sliding, 1001, 1, 0, 0, {}, {}}).ok());
  EXPECT_FALSE(make_window({WindowKind::sliding, 10, 0, 0, 0, {}, {}}).ok());
}

TEST(Keyed, KeysHaveWindowsOfTheirOwn) {
  auto w = window(WindowKind::tumbling, 10, 0, 0, 0, {"id"});
  push(*w, batch({1, 2, 3}, {{"id", texts({"b", "a", "b"})}}));
  const Batch out = finish(*w);
  EXPECT_EQ(column(out, "id"), texts({"a", "b"}));
  EXPECT_EQ(column(out, "n"), ints({1, 2}));
}

TEST(Watermark, ClosesAtTheEndLessDisorder) {
  auto w = window(WindowKind::tumbling, 10, 0, 5);
  EXPECT_EQ(read(push(*w, at({3, 14, 8}))), Rows{});  // 8 comes late but in time
  EXPECT_EQ(read(push(*w, at({15}))), (Rows{{0, 10, 0, 2}}));
  EXPECT_EQ(read(push(*w, at({9}))), Rows{});  // without lateness: counted, not dropped silently
  EXPECT_EQ(w->late(), 1u);
  EXPECT_EQ(read(finish(*w)), (Rows{{10, 20, 0, 2}}));
}

TEST(Lateness, ARowInItRevisesAndALaterOneIsCounted) {
  auto w = window(WindowKind::tumbling, 10, 0, 0, 10);
  EXPECT_EQ(read(push(*w, at({1, 10}))), (Rows{{0, 10, 0, 1}}));
  EXPECT_EQ(read(push(*w, at({2, 19, 3}))), (Rows{{0, 10, 1, 2}, {0, 10, 2, 3}}));
  EXPECT_EQ(read(push(*w, at({20, 4}))), (Rows{{10, 20, 0, 2}}))
      << "the watermark is 10 behind the end: gone";
  EXPECT_EQ(w->late(), 1u);
  EXPECT_EQ(read(finish(*w)), (Rows{{20, 30, 0, 1}}));
}

TEST(Session, EndsAfterTheGapAndIsJoinedByARowBetween) {
  auto w = window(WindowKind::session, 10, 0, 20, 0);
  EXPECT_EQ(read(push(*w, at({0, 5, 20, 12}))), Rows{}) << "12 touches both: one session from 0 to 30";
  EXPECT_EQ(read(push(*w, at({41}))), Rows{});
  EXPECT_EQ(read(push(*w, at({50}))), (Rows{{0, 30, 0, 4}}));
  EXPECT_EQ(read(finish(*w)), (Rows{{41, 60, 0, 2}}));
}

TEST(Session, WhatWasGivenOutIsRevisedByTheJoinedSession) {
  auto w = window(WindowKind::session, 10, 0, 0, 100);
  EXPECT_EQ(read(push(*w, at({0, 25}))), (Rows{{0, 10, 0, 1}}));
  EXPECT_EQ(read(push(*w, at({40}))), (Rows{{25, 35, 0, 1}}));
  EXPECT_EQ(read(push(*w, at({10}))), (Rows{{0, 20, 1, 2}}));
  EXPECT_EQ(read(push(*w, at({18}))), (Rows{{0, 35, 2, 4}}))
      << "both given out: the next revision of the joined one";
  EXPECT_EQ(read(push(*w, at({33}))), Rows{})
      << "reaches 43, behind the watermark 40: open again, and touches the session of 40";
  EXPECT_EQ(read(finish(*w)), (Rows{{0, 50, 3, 6}}));
}

TEST(Page, ClosesAtItsExitOrAfterTheIdleTime) {
  auto w = window(WindowKind::page, 100);
  const auto page = [](std::vector<int64_t> ts, Cells instance, Cells event) {
    return batch(std::move(ts), {{"page_instance", std::move(instance)}, {"event", std::move(event)}});
  };
  EXPECT_EQ(read(push(*w, page({0, 5, 7, 8}, ints({1, 2, 1, 0}),
                               texts({"page_enter", "page_enter", "page_exit", "click"})))),
            (Rows{{0, 7, 0, 2}}));
  EXPECT_EQ(w->outside(), 1u) << "instance 0 is no page";
  EXPECT_EQ(read(push(*w, page({9}, {kAbsent}, texts({"click"})))), Rows{});
  EXPECT_EQ(w->outside(), 2u);
  EXPECT_EQ(read(push(*w, page({10}, ints({1}), texts({"click"})))), Rows{});
  EXPECT_EQ(w->late(), 1u) << "after the exit";
  EXPECT_EQ(read(push(*w, page({105}, ints({3}), texts({"page_enter"})))), (Rows{{5, 105, 0, 1}}))
      << "idle for 100";
  EXPECT_EQ(read(finish(*w)), (Rows{{105, 205, 0, 1}}));
}

TEST(Whole, HoldsAllRowsOfAKeyUntilTheEnd) {
  auto w = window(WindowKind::whole, 0);
  EXPECT_EQ(read(push(*w, at({5, 1'000'000, 3}))), Rows{});
  EXPECT_EQ(read(finish(*w)), (Rows{{3, 1'000'000, 0, 3}}));
}

TEST(Window, RefusesUnknownColumns) {
  auto w = make_window({WindowKind::tumbling, 10, 0, 0, 0, {"id"}, {}});
  refuses((*w)->push(at({1})), "window keys");
  w = make_window({WindowKind::tumbling, 10, 0, 0, 0, {}, {{AggregateKind::sum, "price", "s"}}});
  refuses((*w)->push(at({1})), "aggregate 's'");
  w = make_window({WindowKind::page, 10, 0, 0, 0, {}, {}});
  refuses((*w)->push(at({1})), "page window");
}

TEST(Window, LabelsFollowTheInputs) {
  auto w = make_window({WindowKind::tumbling,
                        10,
                        0,
                        0,
                        0,
                        {"id"},
                        {{AggregateKind::count, "", "n"}, {AggregateKind::max, "price", "m"}}});
  Batch in = batch({1}, {{"id", ints({1})}, {"price", floats({2})}});
  in.columns[0].sensitivity = Sensitivity::secret;
  push(**w, in);
  const Batch out = finish(**w);
  const auto label = [&](const char* name) { return out.columns[out.find(name).value()].sensitivity; };
  EXPECT_EQ(label("id"), Sensitivity::secret);
  EXPECT_EQ(label("n"), Sensitivity::open) << "a count of rows has no column";
  EXPECT_EQ(label("m"), Sensitivity::personal);
  EXPECT_EQ(out.columns.back().path, "price > m");
}

}  // namespace
}  // namespace walle::stream
