// Features kept per key: equal to what a loop over all events says, whatever is held in memory and whenever
// it is asked.
#include <bit>
#include <random>
#include <thread>

#include "stream/processor_case.h"

namespace walle::stream::testing {
namespace {

using base::FaultEnv;

struct Bought {
  uint64_t seq = 0;
  int64_t ts = 0;
  std::string user;
  int64_t item = 0, count = 0;
  double price = 0;
  bool priced = false;
  uint16_t page = 0;
};

Catalog shop() {
  Catalog c;
  const auto field = [](const char* name, ColumnType type) { return FieldDecl{.name = name, .type = type}; };
  const auto buy =
      c.declare({.name = "buy",
                 .kind = EventKind::custom,
                 .fields = {field("user", ColumnType::text), field("item", ColumnType::integer),
                            field("price", ColumnType::real), field("count", ColumnType::integer)}});
  if (!buy.ok() || !c.declare({.name = "other", .kind = EventKind::custom, .fields = {}}).ok() ||
      !c.page("cart").ok())
    std::abort();
  return c;
}

std::unique_ptr<Processor> open_shop(FaultEnv& env, ProcessorOptions options = small_processor()) {
  auto made = Processor::open(env, kDevice, shop(), std::move(options));
  EXPECT_TRUE(made.ok()) << made.error().message();
  return made.ok() ? std::move(*made) : nullptr;
}

RollingSpec spec(RollingKind kind, int64_t over_us, uint32_t over_events, std::string value = "price") {
  return {.name = "f",
          .event = "buy",
          .by = {"user"},
          .kind = kind,
          .value = kind == RollingKind::count ? "" : std::move(value),
          .over_us = over_us,
          .over_events = over_events};
}

Bought buy(Processor& p, Bought b) {
  std::vector<Value> contents{Value::of(std::string_view(b.user)), Value::of(b.item), Value::of(b.price),
                              Value::of(b.count)};
  if (!b.priced) contents[2] = {};
  Event e;
  e.event = *p.catalog().find_event("buy");
  e.ts = b.ts;
  e.page = b.page;
  e.contents = contents;
  const auto recorded = p.record(e);
  EXPECT_TRUE(recorded.ok()) << recorded.error().message();
  b.seq = recorded->seq;
  b.ts = recorded->ts;  // a late event stands at the newest one's time
  return b;
}

std::shared_ptr<RollingFeature> feature(Processor& p, const RollingSpec& s) {
  auto made = p.rolling(s);
  EXPECT_TRUE(made.ok()) << made.error().message();
  return made.ok() ? *made : nullptr;
}

std::vector<Value> ask(Processor& p, RollingFeature& f, const std::vector<std::string>& users,
                       RollingMoment at) {
  std::vector<std::string> keys;
  for (const std::string& user : users) {
    const std::vector<Value> parts{Value::of(std::string_view(user))};
    keys.push_back(*f.rule().key_of(parts));
  }
  auto out = f.values(p.log(), keys, at);
  EXPECT_TRUE(out.ok()) << out.error().message();
  return out.ok() ? *out : std::vector<Value>(users.size());
}

// The definition, word for word.
Value brute(const RollingSpec& s, const std::vector<Bought>& all, const std::string& user, RollingMoment at) {
  std::vector<Bought> in;
  for (const Bought& b : all) {
    if (b.user != user || b.seq > at.seq || (s.value == "price" && !b.priced)) continue;
    if (s.over_us > 0 && b.ts < at.ts - s.over_us) continue;
    in.push_back(b);
  }
  if (s.over_events > 0 && in.size() > s.over_events) in.erase(in.begin(), in.end() - s.over_events);
  if (s.kind == RollingKind::count) return Value::of(static_cast<int64_t>(in.size()));
  if (in.empty()) return {};
  const bool whole = s.value == "count";
  double real = 0;
  int64_t total = 0;
  double least = 0, most = 0;
  for (size_t i = 0; i < in.size(); ++i) {
    const double v = whole ? static_cast<double>(in[i].count) : in[i].price;
    real += v;
    total += in[i].count;
    least = i == 0 ? v : std::min(least, v);
    most = i == 0 ? v : std::max(most, v);
  }
  const auto as = [&](double v) { return whole ? Value::of(static_cast<int64_t>(v)) : Value::of(v); };
  switch (s.kind) {
    case RollingKind::sum: return whole ? Value::of(total) : Value::of(real);
    case RollingKind::mean:
      return Value::of((whole ? static_cast<double>(total) : real) / static_cast<double>(in.size()));
    case RollingKind::min: return as(least);
    default: return as(most);
  }
}

std::string shown(const Value& v) {
  if (!v.present) return "none";
  return v.type == ColumnType::real ? std::to_string(v.d) + "f" : std::to_string(v.i);
}

std::vector<RollingSpec> all_kinds() {
  std::vector<RollingSpec> out;
  for (const auto kind :
       {RollingKind::count, RollingKind::sum, RollingKind::mean, RollingKind::min, RollingKind::max})
    for (const auto& [us, events] : {std::pair(20 * kSecondUs, 0u), std::pair(int64_t{0}, 5u)})
      for (const char* value : {"price", "count"}) out.push_back(spec(kind, us, events, value));
  return out;
}

const std::vector<std::string> kUsers{"ann", "bob", "cid", "nobody"};

// One more event, most of them in order, some at the same microsecond, some late.
Bought random_bought(std::mt19937_64& random, int64_t& clock) {
  const uint64_t how = random() % 8;
  if (how > 1) clock += static_cast<int64_t>(random() % (3 * kSecondUs));
  if (random() % 32 == 0) clock += 11 * kMinuteUs;  // beyond what is kept behind a window
  const int64_t ts = how == 1 ? clock - static_cast<int64_t>(random() % kMinuteUs) : clock;
  return {.ts = ts,
          .user = kUsers[random() % 3],
          .item = static_cast<int64_t>(random() % 4),
          .count = static_cast<int64_t>(random() % 9) - 4,
          .price = static_cast<double>(random() % 1000) / 7 * (random() % 50 == 0 ? 1e15 : 1),
          .priced = random() % 10 != 0};
}

void expect_all(Processor& p, const std::vector<RollingSpec>& specs,
                const std::vector<std::shared_ptr<RollingFeature>>& features, const std::vector<Bought>& all,
                RollingMoment at) {
  for (size_t i = 0; i < specs.size(); ++i) {
    const std::vector<Value> got = ask(p, *features[i], kUsers, at);
    for (size_t k = 0; k < kUsers.size(); ++k) {
      const Value wanted = brute(specs[i], all, kUsers[k], at);
      ASSERT_TRUE((!got[k].present && !wanted.present) || identical(got[k], wanted))
          << kRollingKinds[static_cast<size_t>(specs[i].kind)] << " of '" << specs[i].value << "' for "
          << kUsers[k] << " behind " << at.seq << ": " << shown(got[k]) << ", not " << shown(wanted);
    }
  }
}

TEST(Rolling, IsWhatALoopOverAllEventsSaysAtEveryMoment) {
  std::mt19937_64 random(7);
  const std::vector<RollingSpec> specs = all_kinds();
  std::vector<uint64_t> reads(specs.size()), asked(specs.size());
  for (int round = 0; round < 6; ++round) {
    FaultEnv env;
    auto p = open_shop(env);
    std::vector<std::shared_ptr<RollingFeature>> features;
    for (const RollingSpec& s : specs) features.push_back(feature(*p, s));
    std::vector<Bought> all;
    int64_t clock = kStart;
    for (int i = 0; i < 300; ++i) {
      all.push_back(buy(*p, random_bought(random, clock)));
      if (i % 40 == 7) {
        ASSERT_TRUE(p->log().compact().ok());
      }
      if (random() % 4 == 0) {
        const Bought& then = all[random() % 3 == 0 ? random() % all.size() : all.size() - 1];
        const int64_t behind = random() % 2 == 0 ? 0 : static_cast<int64_t>(random() % (30 * kSecondUs));
        expect_all(*p, specs, features, all, {.seq = then.seq, .ts = then.ts + behind});
        for (uint64_t& n : asked) ++n;
      }
      if (i % 150 != 149) continue;
      for (size_t f = 0; f < features.size(); ++f) reads[f] += features[f]->stats().reads;
      // Killed: what is asked then is read again from the log.
      features.clear();
      kill(env, p);
      p = open_shop(env);
      for (const RollingSpec& s : specs) features.push_back(feature(*p, s));
    }
  }
  for (size_t i = 0; i < specs.size(); ++i) {
    EXPECT_GT(reads[i], 0u) << "both ways to an answer are taken";
    EXPECT_LT(reads[i], asked[i] / 2);
  }
}

TEST(Rolling, KeysThatGaveWayAreReadFromTheLogAndCounted) {
  FaultEnv env;
  auto p = open_shop(env);
  RollingSpec s = spec(RollingKind::count, kHourUs, 0);
  s.keys = 2;
  const auto f = feature(*p, s);
  ASSERT_TRUE(p->maintain().ok());
  for (int i = 0; i < 30; ++i) buy(*p, {.ts = kStart + i, .user = "user" + std::to_string(i % 3)});
  ASSERT_TRUE(p->maintain().ok());
  for (int i = 0; i < 3; ++i) buy(*p, {.ts = kStart + 30 + i, .user = "user" + std::to_string(i)});
  EXPECT_EQ(f->stats().keys, 2u);
  EXPECT_GT(f->stats().evicted, 0u);
  EXPECT_EQ(f->stats().reads, 0u);
  for (const Value& v : ask(*p, *f, {"user0", "user1", "user2"}, p->newest(0))) EXPECT_EQ(v.i, 11);
  EXPECT_EQ(f->stats().reads, 1u) << "one pass for all keys";
}

TEST(Rolling, KeysThatNoLongerCountGiveWayUncounted) {
  FaultEnv env;
  auto p = open_shop(env);
  RollingSpec s = spec(RollingKind::count, kSecondUs, 0);
  s.keys = 1;
  const auto f = feature(*p, s);
  buy(*p, {.ts = kStart, .user = "ann"});
  ASSERT_TRUE(p->maintain().ok());
  buy(*p, {.ts = kStart + kMinuteUs, .user = "bob"});
  EXPECT_EQ(f->stats().evicted, 0u);
  EXPECT_EQ(ask(*p, *f, {"ann"}, p->newest(0))[0].i, 0);
  EXPECT_EQ(f->stats().reads, 0u) << "nothing of it can count";
}

TEST(Rolling, AWindowIncludesItsOldestMoment) {
  FaultEnv env;
  auto p = open_shop(env);
  const auto f = feature(*p, spec(RollingKind::count, kSecondUs, 0));
  const Bought b = buy(*p, {.ts = kStart, .user = "ann"});
  EXPECT_EQ(ask(*p, *f, {"ann"}, {.seq = b.seq, .ts = kStart + kSecondUs})[0].i, 1);
  EXPECT_EQ(ask(*p, *f, {"ann"}, {.seq = b.seq, .ts = kStart + kSecondUs + 1})[0].i, 0);
}

TEST(Rolling, MoreEventsThanARingHoldsAreReadFromTheLog) {
  FaultEnv env;
  ProcessorOptions options = small_processor();
  options.log.journal_bytes = 16 << 20;
  auto p = open_shop(env, options);
  const auto f = feature(*p, spec(RollingKind::count, kDayUs, 0));
  ASSERT_TRUE(p->maintain().ok());
  const auto most = static_cast<int64_t>(KeyHistory::kMost);
  for (int64_t i = 0; i < most + 10; ++i) buy(*p, {.ts = kStart + i, .user = "ann"});
  EXPECT_EQ(ask(*p, *f, {"ann"}, p->newest(0))[0].i, most + 10);
  EXPECT_EQ(f->stats().reads, 1u);
  EXPECT_LT(f->stats().bytes, RollingMemory::kMostBytes);
}

TEST(Rolling, WhatWasErasedOrRemovedIsInNoFeature) {
  FaultEnv env;
  ProcessorOptions options = small_processor();
  options.log.journal_bytes = 8 << 10;
  auto p = open_shop(env, options);
  const auto f = feature(*p, spec(RollingKind::count, 0, 10'000));
  for (int i = 0; i < 10; ++i) buy(*p, {.ts = kStart + i, .user = i % 2 == 0 ? "ann" : "bob"});
  EXPECT_EQ(ask(*p, *f, {"ann"}, p->newest(0))[0].i, 5);
  const EraseRule ann{.field = p->catalog().find_field("user"), .value = Value::of("ann")};
  ASSERT_TRUE(p->log().erase(ann).ok());
  EXPECT_EQ(ask(*p, *f, {"ann"}, p->newest(0))[0].i, 0);
  EXPECT_EQ(ask(*p, *f, {"bob"}, p->newest(0))[0].i, 5);
}

TEST(Rolling, RetentionTakesEventsOutOfFeatures) {
  FaultEnv env;
  ProcessorOptions options = small_processor();
  options.log.journal_bytes = 8 << 10;
  options.log.quota_bytes = 1;
  auto p = open_shop(env, options);
  const auto f = feature(*p, spec(RollingKind::count, 0, 10'000));
  int64_t given = 0;
  while (p->log().removed() == 0) {
    ASSERT_LT(given, 10'000);
    buy(*p, {.ts = kStart + given++, .user = "ann"});
    ASSERT_TRUE(p->maintain().ok());
  }
  const auto left = given - static_cast<int64_t>(p->log().removed());
  EXPECT_EQ(ask(*p, *f, {"ann"}, p->newest(0))[0].i, left) << "as a replay of the log says";
  p.reset();
}

TEST(Rolling, ALogThatCannotBeReadIsAnErrorAndNotAnotherNumber) {
  FaultEnv env;
  auto p = open_shop(env);
  for (int i = 0; i < 10; ++i) buy(*p, {.ts = kStart + i, .user = "ann"});
  ASSERT_TRUE(p->log().compact().ok());
  const auto f = feature(*p, spec(RollingKind::count, 0, 100));
  const std::vector<std::string> names = *env.list_files(std::string(kDevice) + "/log");
  for (const std::string& name : names)
    if (name.ends_with(".wseg")) {
      ASSERT_TRUE(env.remove_file(std::string(kDevice) + "/log/" + name).ok());
    }
  EXPECT_TRUE(p->maintain().ok()) << "which whoever asks is told";
  const std::vector<Value> parts{Value::of("ann")};
  EXPECT_FALSE(f->values(p->log(), std::vector<std::string>{*f->rule().key_of(parts)}, p->newest(0)).ok());
}

TEST(Rolling, PredicatesPagesAndSeveralFields) {
  FaultEnv env;
  auto p = open_shop(env);
  RollingSpec s = spec(RollingKind::sum, 0, 3, "count");
  s.event = "buy@cart[item > 1]";
  s.by = {"item", "user"};
  const auto f = feature(*p, s);
  const uint16_t cart = *p->catalog().find_page("cart");
  for (int i = 0; i < 24; ++i)
    buy(*p, {.ts = kStart + i,
             .user = "ann",
             .item = i % 3,
             .count = i,
             .page = i % 2 == 0 ? cart : uint16_t{0}});
  const auto asked = [&](int64_t item, std::string_view user) {
    const std::vector<Value> parts{Value::of(item), Value::of(user)};
    return (*f->values(p->log(), std::vector<std::string>{*f->rule().key_of(parts)}, p->newest(0)))[0];
  };
  EXPECT_EQ(asked(2, "ann").i, 8 + 14 + 20);
  EXPECT_FALSE(asked(1, "ann").present);
  EXPECT_FALSE(asked(2, "bob").present);
  const std::vector<Value> one{Value::of(int64_t{2})};
  EXPECT_FALSE(f->rule().key_of(one).ok());
  const std::vector<Value> wrong{Value::of("2"), Value::of("ann")};
  EXPECT_NE(f->rule().key_of(wrong).status().error().message().find("int"), std::string::npos);
}

TEST(Rolling, ASumOfIntsIsExactAndAFloatBeyondThem) {
  FaultEnv env;
  auto p = open_shop(env);
  const auto f = feature(*p, spec(RollingKind::sum, 0, 2, "count"));
  const auto put = [&](int64_t count) { buy(*p, {.ts = kStart, .user = "ann", .count = count}); };
  put(INT64_MAX);
  put(-1);
  EXPECT_EQ(ask(*p, *f, {"ann"}, p->newest(0))[0].i, INT64_MAX - 1);
  put(INT64_MIN);
  put(INT64_MIN);
  const Value far = ask(*p, *f, {"ann"}, p->newest(0))[0];
  EXPECT_EQ(far.type, ColumnType::real);
  EXPECT_EQ(far.d, -0x1p64);
}

TEST(Rolling, EqualDeclarationsAreOneAndLiveWhileHeld) {
  FaultEnv env;
  auto p = open_shop(env);
  auto f = feature(*p, spec(RollingKind::count, kSecondUs, 0));
  RollingSpec other = spec(RollingKind::count, kSecondUs, 0);
  other.name = "g";
  EXPECT_EQ(feature(*p, other), f);
  buy(*p, {.ts = kStart, .user = "ann"});
  const std::weak_ptr<RollingFeature> seen = f;
  f.reset();
  ASSERT_TRUE(p->maintain().ok());
  EXPECT_TRUE(seen.expired());
  buy(*p, {.ts = kStart + 1, .user = "ann"});
}

TEST(Rolling, RefusesWhatMeansNothing) {
  FaultEnv env;
  auto p = open_shop(env);
  const auto refused = [&](const char* word, const auto& change) {
    RollingSpec s = spec(RollingKind::sum, kSecondUs, 0);
    change(s);
    const auto made = p->rolling(s);
    ASSERT_FALSE(made.ok()) << word;
    EXPECT_NE(made.error().message().find(word), std::string::npos) << made.error().message();
  };
  refused("bye", [](RollingSpec& s) { s.event = "bye"; });
  refused("home", [](RollingSpec& s) { s.event = "buy@home"; });
  refused("one event", [](RollingSpec& s) { s.event = "buy > buy"; });
  refused("one event", [](RollingSpec& s) { s.event = "buy within 3s"; });
  refused("one event", [](RollingSpec& s) { s.event = "*"; });
  refused("pryce", [](RollingSpec& s) { s.event = "buy[pryce > 1]"; });
  refused("did you mean 'user'", [](RollingSpec& s) { s.by = {"usr"}; });
  refused("1 to 4", [](RollingSpec& s) { s.by = {}; });
  refused("twice", [](RollingSpec& s) { s.by = {"user", "user"}; });
  refused("of type text", [](RollingSpec& s) { s.value = "user"; });
  refused("no value", [](RollingSpec& s) { s.value = ""; });
  refused("a value of count", [](RollingSpec& s) { s.kind = RollingKind::count; });
  refused("one of both", [](RollingSpec& s) { s.over_events = 3; });
  refused("366d", [](RollingSpec& s) { s.over_us = INT64_MAX; });
  refused("keys = 0", [](RollingSpec& s) { s.keys = 0; });
}

// Its recorder may come with it when whoever filled the memory has found it in the log.
TEST(Rolling, AnEventCountsOnceWhoeverShowsItFirst) {
  FaultEnv env;
  auto p = open_shop(env);
  buy(*p, {.ts = kStart, .user = "ann"});
  RollingFeature f(*RollingRule::make(spec(RollingKind::count, 0, 10), p->catalog()));
  ASSERT_TRUE(f.warm(p->log(), kStart).ok());
  ASSERT_TRUE(p->log()
                  .read(0,
                        [&](const Event& e) {
                          f.feed(e, p->catalog());
                          return true;
                        })
                  .ok());
  EXPECT_EQ(ask(*p, f, {"ann"}, p->newest(0))[0].i, 1);
}

// Each feature is filled while events come: every one counts once, whether the log or the recorder shows it.
TEST(Rolling, IsFilledAndAskedWhileEventsCome) {
  FaultEnv env;
  ProcessorOptions options = small_processor();
  options.log.journal_bytes = 32 << 20;
  auto p = open_shop(env, options);
  constexpr int64_t kEvents = 100'000, kWindow = 100, kStep = kSecondUs / 10;
  std::atomic<int64_t> newest{0};
  std::thread recorder([&] {
    for (int64_t i = 0; i < kEvents; ++i)
      newest =
          static_cast<int64_t>(buy(*p, {.ts = kStart + i * kStep, .user = i % 3 == 0 ? "ann" : "bob"}).seq);
  });
  int64_t round = 0;
  for (; newest < kEvents && round < kStep; ++round) {
    // Another one each time, of the same events.
    const auto f = feature(*p, spec(RollingKind::count, kWindow * kStep + round, 0));
    for (int times = 0; times < 2; ++times) {
      const int64_t last = newest - 1;
      if (last < kWindow) continue;
      const Value v =
          ask(*p, *f, {"ann"}, {.seq = static_cast<uint64_t>(last + 1), .ts = kStart + last * kStep})[0];
      EXPECT_EQ(v.i, last / 3 - (last - kWindow + 2) / 3 + 1) << "up to event " << last;
    }
    EXPECT_TRUE(p->maintain().ok());
  }
  recorder.join();
  EXPECT_GT(round, 10);
}

}  // namespace
}  // namespace walle::stream::testing
