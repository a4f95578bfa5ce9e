// Strict chains, whose edges are found from the nodes just reached, beside triggers that share their first
// steps with them.
#include "stream/matcher_case.h"

namespace walle::stream {
namespace {

using testing::BruteForce;
using testing::Case;
using testing::RandomCase;

// The tokens of `length` events of the stream from `from` on, each
// following at once: this chain ends at least once.
std::string chain(const Catalog& catalog, const std::vector<testing::Recorded>& events, size_t from,
                  size_t length) {
  std::string out;
  for (size_t i = from; i < from + length; ++i) {
    const Event& e = events[i].event;
    if (e.page == kNoPage || catalog.events()[e.event].kind == EventKind::app_state) return "";
    out += (i == from ? "" : " > ") + catalog.events()[e.event].name + "@" + catalog.pages()[e.page];
  }
  return out;
}

std::string random_trigger(const Catalog& catalog, RandomCase& r, const Case& c) {
  const size_t most = std::min<size_t>(5, c.events.size());
  const size_t length = 1 + static_cast<size_t>(r.below(static_cast<int>(most)));
  const std::string strict =
      chain(catalog, c.events, static_cast<size_t>(r.below(static_cast<int>(c.events.size() - length + 1))),
            length);
  if (strict.empty()) return "";
  // As it is, or with a step in front or behind that is no part of a chain.
  const char* around[] = {
      "", "", "", " > a", " > *@p", " ~ b@q", " > c@p[x > 0]", " > (a@p | b@q)", " !c ~ a@p", " > a@q? > b"};
  std::string out = strict + around[r.below(10)];
  if (r.chance(10)) out = "a? > " + out;
  if (r.chance(20)) out += " within 3us";
  if (r.chance(50)) out += " every";
  const char* scopes[] = {"", "", "", " scope page", " scope session", " scope by(who)"};
  return out + scopes[r.below(6)];
}

Case make_case(const Catalog& catalog, uint64_t seed) {
  RandomCase r(catalog, seed);
  Case c;
  const int length = 6 + r.below(20);
  c.events = r.stream(length);
  for (testing::Recorded& e : c.events)  // most events on one page, so that chains meet
    if (r.chance(60) && !e.values.empty()) e.event.page = *catalog.find_page("p");
  for (int tries = 0; tries < 12; ++tries) {
    const std::string text = random_trigger(catalog, r, c);
    if (text.empty()) continue;
    auto spec = parse_trigger(text);
    EXPECT_TRUE(spec.ok()) << text << ": " << spec.error().message();
    auto t = compile_trigger(*spec, catalog, text);
    if (!t.ok()) continue;
    c.specs.push_back(*spec), c.triggers.push_back(*t);
    c.add_at.push_back(r.chance(70) ? 0 : static_cast<size_t>(r.below(length)));
    c.remove_at.push_back(r.chance(80) ? static_cast<size_t>(length) : static_cast<size_t>(r.below(length)));
  }
  c.cut = r.chance(50) ? static_cast<size_t>(r.below(length)) : SIZE_MAX;
  return c;
}

TEST(Chains, AgreeWithEnumeration) {
  const Catalog catalog = testing::small_world();
  size_t fired = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    const Case c = make_case(catalog, seed);
    const int64_t end = c.events.back().event.ts + 5;
    const auto got = testing::run_matcher(c, catalog, end);
    for (size_t t = 0; t < c.triggers.size(); ++t) {
      if (c.add_at[t] >= c.remove_at[t]) continue;
      auto want = BruteForce(c.specs[t], catalog, c.events, c.add_at[t]).run(c.events.size(), end);
      if (c.remove_at[t] < c.events.size()) {  // a prefix, up to its removal
        ASSERT_LE(got[t].size(), want.size()) << "seed " << seed << ": " << c.triggers[t].text;
        want.resize(got[t].size());
      }
      fired += want.size();
      ASSERT_TRUE(got[t] == want) << "seed " << seed << " trigger " << t << ": " << c.triggers[t].text;
    }
  }
  EXPECT_GT(fired, 10'000u) << "the cases must be dense enough to mean something";
}

// Sixteen steps is as deep as a chain goes: one node of every depth has just been reached.
TEST(Chains, OfSixteenEqualStepsFireAtEveryEventFromTheSixteenthOn) {
  const Catalog catalog = testing::small_world();
  std::string text = "a@p";
  for (int i = 1; i < kMaxSteps; ++i) text += " > a@p";
  Matcher m(catalog);
  ASSERT_TRUE(m.add(*compile_trigger(*parse_trigger(text + " every"), catalog)).ok());
  Event e;
  e.event = *catalog.find_event("a"), e.page = *catalog.find_page("p"), e.session = 1;
  std::vector<int64_t> starts;
  for (int64_t i = 1; i <= 40; ++i) {
    if (i == 21) m.restore(m.snapshot()).value();
    e.seq = static_cast<uint64_t>(i), e.ts = 1000 + i;
    m.step(e);
    for (Firing f; m.queue().pop(f);) starts.push_back(f.start_ts - 1000);
  }
  ASSERT_EQ(starts.size(), 25u);
  for (size_t i = 0; i < starts.size(); ++i) EXPECT_EQ(starts[i], static_cast<int64_t>(i) + 1);
}

TEST(Chains, ThatAreRemovedLeaveNothing) {
  const Catalog catalog = testing::small_world();
  Matcher m(catalog);
  std::vector<std::pair<uint16_t, CompiledTrigger>> added;
  for (uint64_t seed = 0; seed < 60; ++seed)
    for (const CompiledTrigger& t : make_case(catalog, seed).triggers) added.emplace_back(*m.add(t), t);
  EXPECT_GT(m.node_count(), 200u);
  for (const auto& [id, t] : added) m.remove(id, t);
  EXPECT_EQ(m.node_count(), 0u);
  EXPECT_EQ(m.edge_count(), 0u);
}

}  // namespace
}  // namespace walle::stream
