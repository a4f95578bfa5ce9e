// Graphs as data: written down and read again, refused, printed, asked what they read and make.
// g++ 12 says of temporaries in nested lists that they may be destroyed before they are made (bug 105562).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include "stream/graph/graph_check.h"

#include "base/bytes.h"
#include "stream/random_graph.h"

namespace walle::stream {
namespace {

using namespace testing;

GraphSpec one_of_all() {
  const AggregateSpec sum{AggregateKind::sum, "v", "total", 10, 0, 1};
  GraphSpec out;
  out.steps = {{FilterStep{"v > 2"}},
               {MapStep{"w", "v", '*', "2"}},
               {DedupeStep{{"id"}, 5 * kSecondUs, 100}},
               {StateSpec{StateKind::running, {"id"}, "v", sum, "so_far", 7}},
               {EncodeStep{{"v", "w"}, "code", "models/small.walle"}},
               {JoinStep{{"id"}, kMinuteUs, true, {{SelectStep{{"id", "rate"}}}}}},
               {NoiseStep{{NoiseKind::gaussian, "w", 0, 9, 0.5, 1e-6, 0.01}, "daily", 3}},
               {WindowSpec{WindowKind::sliding,
                           10 * kSecondUs,
                           2 * kSecondUs,
                           kSecondUs,
                           kMinuteUs,
                           {"id"},
                           {sum, {AggregateKind::histogram, "w", "h", 4, -1, 2.5}}}}};
  return out;
}

TEST(GraphSpec, IsTheSameAfterItWasWrittenDown) {
  GraphSpec all = one_of_all();
  all.steps.push_back({IpvSpec{"depth", "item", "feature", 1, 2}});
  for (uint64_t seed = 0; seed < 2'000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const GraphSpec spec = seed ? RandomGraph(seed).graph() : all;
    const auto bytes = graph_bytes(spec);
    ASSERT_TRUE(bytes.ok()) << bytes.error().message();
    const auto again = parse_graph(*bytes);
    ASSERT_TRUE(again.ok()) << again.error().message();
    ASSERT_EQ(*again, spec);
    ASSERT_EQ(*graph_bytes(*again), *bytes);
    ASSERT_EQ(graph_text(*again), graph_text(spec));
  }
}

TEST(GraphSpec, DamagedBytesAreRefusedWhateverTheDamage) {
  const std::string whole = *graph_bytes(one_of_all());
  for (size_t at = 0; at < whole.size(); ++at) {
    refuses(parse_graph(std::string_view(whole).substr(0, at)), "to_bytes");
    for (const char flip : {'\1', '\x80', '\xff'}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      ASSERT_FALSE(parse_graph(damaged).ok()) << at;
    }
  }
  refuses(parse_graph(whole + "x"), "no graph, or a damaged one");
  refuses(parse_graph(""), "0 bytes");
}

// As whoever writes them would, who makes the checksum right.
std::string sealed(std::string_view content) {
  base::ByteWriter out;
  out.put_bytes("WALGRAP1");
  out.put_text(content);
  out.put_checksum();
  return out.take();
}

TEST(GraphSpec, DamageUnderARightChecksumNeverCrashesAndIsNeverRepaired) {
  const std::string whole = *graph_bytes(one_of_all());
  const std::string inside = whole.substr(12, whole.size() - 16);
  ASSERT_EQ(*parse_graph(sealed(inside)), one_of_all());
  int read = 0;
  for (size_t at = 0; at < inside.size(); ++at)
    for (int flip = 1; flip < 256; flip = flip * 2 + 1) {
      std::string damaged = inside;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      const auto spec = parse_graph(sealed(damaged));
      if (!spec.ok()) continue;
      ++read;
      // What is read is a graph: it can be made, but for the names, and written down.
      ASSERT_TRUE(verify(*spec).ok());
      ASSERT_EQ(*parse_graph(*graph_bytes(*spec)), *spec);
      (void)graph_text(*spec), (void)fields_read(*spec);
    }
  EXPECT_GT(read, 50) << "other names and numbers are graphs, too";
}

TEST(GraphSpec, WhatMeansNothingIsRefusedWithThePlaceOfTheOperator) {
  const auto check = [](GraphStep::Any step, std::string_view part) {
    GraphSpec spec;
    spec.steps = {{SelectStep{{"a"}}}, {std::move(step)}};
    const Status status = verify(spec);
    ASSERT_FALSE(status.ok()) << part;
    EXPECT_NE(status.error().message().find(part), std::string::npos) << status.error().message();
    EXPECT_NE(status.error().message().find("operator 2"), std::string::npos) << status.error().message();
    EXPECT_FALSE(graph_bytes(spec).ok());
  };
  const AggregateSpec count{AggregateKind::count, "", "n", 10, 0, 1};
  check(FilterStep{"x >"}, "operator 2");
  check(FilterStep{"x > 1] ~ b[x"}, "predicate over one row");
  check(MapStep{"out", "a", '%', "b"}, "+ - * / =");
  check(MapStep{"", "a", '+', "b"}, "empty column");
  check(SelectStep{{"\xff"}}, "UTF-8");
  check(SelectStep{{std::string(kMaxGraphText + 1, 'a')}}, "16385 bytes");
  check(SelectStep{std::vector<std::string>(kMaxGraphNames + 1, "a")}, "257 columns");
  check(DedupeStep{{"a"}, -1, 5}, "within");
  check(DedupeStep{{"a"}, 0, kMaxGraphKeys + 1}, "keys to remember");
  check(WindowSpec{WindowKind::tumbling, 10, 0, 0, 0, {}, {}}, "without aggregates");
  check(WindowSpec{WindowKind::tumbling, 0, 0, 0, 0, {}, {count}}, "window of 0 us");
  check(WindowSpec{WindowKind::sliding, kMaxTimeUs, 1, 0, 0, {}, {count}}, "overlaps");
  check(WindowSpec{WindowKind::whole, 0, 0, 0, 0, {}, {{AggregateKind::histogram, "v", "h", 3, 2, 1}}},
        "aggregate 'h'");
  check(WindowSpec{WindowKind::whole, 0, 0, 0, 0, {}, {{AggregateKind::histogram, "v", "h", 3, 0, INFINITY}}},
        "finite");
  check(StateSpec{StateKind::previous, {}, "", {}, "s", 5}, "a name, a column");
  check(EncodeStep{{}, "code", "m"}, "encode of 0 columns");
  check(EncodeStep{{"a"}, "code", ""}, "model's name");
  check(NoiseStep{{NoiseKind::laplace, "a", 1, 1, 1, 1e-6, 1e-3}, "x", 1}, "low < high");
  check(NoiseStep{{NoiseKind::laplace, "a", 0, 1, 1, 1e-6, 0}, "x", 1}, "resolution");
  check(NoiseStep{{NoiseKind::laplace, "a", 0, 1, 1, 1e-6, 1e-3}, "", 1}, "account");
  check(IpvSpec{"d", "i", "o", 0, 0}, "positive time");
  check(JoinStep{{}, 0, false, {}}, "without keys");
  check(JoinStep{{"a"}, -1, false, {}}, "within");
  check(JoinStep{{"a"}, 0, false, {{JoinStep{{"a"}, 0, false, {}}}}}, "within the right side");
  check(JoinStep{{"a"}, 0, false, {{FilterStep{"x >"}}}}, "right side of as-of join");
  GraphSpec long_one;
  long_one.steps.assign(kMaxGraphSteps, {SelectStep{{"a"}}});
  EXPECT_TRUE(verify(long_one).ok());
  long_one.steps.back() = {JoinStep{{"a"}, 0, false, {{SelectStep{{"a"}}}}}};
  EXPECT_FALSE(verify(long_one).ok()) << "operators of a right side count";
}

TEST(GraphSpec, PrintsOneLinePerOperator) {
  EXPECT_EQ(
      graph_text(one_of_all()),
      "graph of 8 operators\n"
      "  filter \"v > 2\"\n"
      "  map w = v * 2\n"
      "  dedupe by id within 5s, at most 100 keys\n"
      "  state so_far = sum(v) as total by id, at most 7 keys\n"
      "  encode code = model \"models/small.walle\" of v, w\n"
      "  as_of_join by id within 1m, right side from the second input:\n"
      "    select id, rate\n"
      "  noise w: gaussian 0..9, epsilon 0.5, delta 1e-06, resolution 0.01, from account \"daily\" of 3\n"
      "  sliding 10s every 2s by id, disorder 1s, lateness 1m: sum(v) as total, histogram(w, 4, -1..2.5) as "
      "h");
  EXPECT_EQ(graph_text({}), "graph of 0 operators");
  EXPECT_EQ(graph_text({{{SelectStep{{"a\n  filter", "b\"c"}}}}}),
            "graph of 1 operator\n  select \"a\\x0a  filter\", \"b\\\"c\"")
      << "a name must not look like an operator";
}

TEST(GraphSpec, SaysWhichFieldsItReads) {
  const auto reads = [](std::vector<GraphStep> steps) { return fields_read({std::move(steps)}); };
  using Names = std::vector<std::string>;
  const AggregateSpec sum{AggregateKind::sum, "w", "total", 10, 0, 1};
  EXPECT_EQ(reads({}), Names{});
  EXPECT_EQ(reads({{FilterStep{"x > 1 and event == \"a\" and exists y"}}}), (Names{"x", "y"}));
  EXPECT_EQ(reads({{MapStep{"w", "a", '+', "b"}}, {MapStep{"u", "w", '*', "3"}}}), (Names{"a", "b"}));
  EXPECT_EQ(reads({{MapStep{"w", "a", '=', "b"}},
                   {WindowSpec{WindowKind::whole, 0, 0, 0, 0, {"page"}, {sum}}},
                   {FilterStep{"total > 1"}}}),
            Names{"a"});
  EXPECT_EQ(reads({{JoinStep{{"k"}, 0, false, {{MapStep{"r", "x", '=', ""}}}}}, {SelectStep{{"r", "z"}}}}),
            (Names{"k", "x", "z"}));
  EXPECT_EQ(reads({{IpvSpec{}}, {EncodeStep{{"ipv"}, "code", "m"}}}), (Names{"depth", "item"}));
  EXPECT_EQ(input_count({{{JoinStep{{"k"}, 0, true, {}}}}}), 2u);
  EXPECT_EQ(input_count(one_of_all()), 2u);
  EXPECT_EQ(input_count({}), 1u);
}

}  // namespace
}  // namespace walle::stream
