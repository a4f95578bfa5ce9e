#include "stream/match/predicate_memo.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace walle::stream {
namespace {

Predicate price_is(int64_t value) {
  Literal l;
  l.i = value;
  l.d = static_cast<double>(value);
  Predicate p;
  p.nodes.push_back({.op = PredicateOp::eq, .field = "price", .literals = {l}});
  return p;
}

TEST(PredicateMemo, EqualOnesAreOneAndNumbersAreGivenOutAgain) {
  PredicateMemo memo;
  const uint16_t seven = memo.intern(price_is(7));
  EXPECT_EQ(memo.intern(price_is(7)), seven);
  EXPECT_NE(memo.intern(price_is(8)), seven);
  memo.release(seven);
  EXPECT_EQ(memo.intern(price_is(7)), seven);
  memo.release(seven);
  memo.release(seven);
  EXPECT_EQ(memo.intern(price_is(9)), seven);
}

TEST(PredicateMemo, BothZerosAreOneAsTheyAreEqual) {
  PredicateMemo memo;
  Predicate minus = price_is(0);
  minus.nodes[0].literals[0].d = -0.0;
  ASSERT_EQ(minus, price_is(0));
  EXPECT_EQ(memo.intern(minus), memo.intern(price_is(0)));
}

// Beside a map, through growth and holes.
TEST(PredicateMemo, FindsWhatAMapFinds) {
  constexpr uint64_t kSeed = 51;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937_64 random(kSeed);
  PredicateMemo memo;
  std::map<int64_t, std::pair<uint16_t, int>> known;  // number, uses
  for (int step = 0; step < 40'000; ++step) {
    const auto value = static_cast<int64_t>(random() % 3000);
    const auto at = known.find(value);
    if (random() % 2 == 0 && at != known.end()) {
      memo.release(at->second.first);
      if (--at->second.second == 0) known.erase(at);
      continue;
    }
    const uint16_t number = memo.intern(price_is(value));
    auto& [expected, uses] = known.try_emplace(value, number, 0).first->second;
    ++uses;
    ASSERT_EQ(number, expected) << "step " << step;
    ASSERT_EQ(memo.predicates[number], price_is(value)) << "step " << step;
    ASSERT_EQ(memo.uses[number], static_cast<uint32_t>(uses)) << "step " << step;
  }
  EXPECT_LE(memo.predicates.size(), 3000u);
}

}  // namespace
}  // namespace walle::stream
