// Random plans, decided by the table and by the rules as docs/reference/formats/plan.md says them, one
// release after the other.
#include <gtest/gtest.h>

#include <random>

#include "base/hash.h"
#include "link/policy/decide.h"
#include "link/policy/plan_case.h"
#include "seed.h"

namespace walle::link {
namespace {

constexpr int64_t kStart = 1'000'000;
constexpr uint32_t kValues = 40;  // small, so that conditions hold often

class Random {
 public:
  explicit Random(uint32_t seed) : rng_(seed) {}
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(rng_() % n); }
  bool one_in(uint32_t n) { return below(n) == 0; }
  uint64_t share() { return one_in(4) ? kWhole : (uint64_t{below(1 << 16)} << 16); }

 private:
  std::mt19937 rng_;
};

uint32_t most_of(HeaderField field) { return field == HeaderField::os ? 5 : kValues; }

std::vector<PlanSpan> spans_below(Random& random, uint32_t most) {
  std::vector<PlanSpan> out;
  uint32_t low = random.below(most / 2 + 1);
  while (low <= most && out.size() < 3) {
    const uint32_t high = std::min(most, low + random.below(most / 2 + 1));
    out.push_back({low, high});
    low = high + 2 + random.below(4);
  }
  return out;
}

PlanSegment segment(Random& random) {
  PlanSegment out;
  for (size_t f = 0; f < kHeaderFields; ++f) {
    if (!random.one_in(4)) continue;
    const auto field = static_cast<HeaderField>(f);
    out.conditions.push_back(
        {.field = static_cast<uint8_t>(f), .spans = spans_below(random, most_of(field))});
  }
  if (random.one_in(6))
    out.conditions.push_back(
        {.field = kBucketField, .salt = salt_of(random.one_in(2) ? "a" : "b"), .spans = {{0, 0x7fffffff}}});
  return out;
}

PlanData plan(Random& random) {
  PlanData out{.epoch = 1};
  const uint32_t tasks = 1 + random.below(120);
  for (uint32_t t = 0; t < tasks; ++t) {
    const std::string task = "t" + std::to_string(t);
    const uint32_t releases = random.one_in(3) ? 1 + random.below(4) : 1;
    const uint32_t gray = random.one_in(3) ? random.below(releases) : releases;
    for (uint32_t r = 0; r < releases; ++r) {
      PlanRelease made =
          release_of_task(task, task + "-" + std::to_string(r), std::to_string(1 + r) + ".0.0");
      for (uint32_t s = random.below(random.one_in(2) ? 2 : 4); s > 0; --s)
        made.segments.push_back(segment(random));
      if (r == gray) {
        const uint64_t from = random.share(), to = random.share();
        made.ramp = PlanRamp{.from = std::min(from, to),
                             .to = std::max(from, to),
                             .start_s = kStart,
                             .seconds = random.below(1000),
                             .control = random.share() / 4};
      }
      out.releases.push_back(std::move(made));
    }
    if (random.one_in(20)) out.kills.push_back({"shop", task});
  }
  return out;
}

DeviceHeader header(Random& random) {
  return {.os = static_cast<Os>(random.below(6)),
          .ram_class = static_cast<uint8_t>(random.below(kValues + 2)),
          .app = random.below(kValues + 2),
          .app_version = random.below(kValues + 2),
          .os_version = static_cast<uint16_t>(random.below(kValues + 2)),
          .op_set = static_cast<uint16_t>(random.below(kValues + 2)),
          .device = random.below(kValues + 2),
          .vm = random.below(kValues + 2),
          .bucket = random.below(0x7fffffff) * 2 + random.below(2)};
}

uint32_t value_of(const DeviceHeader& h, uint8_t field) {
  const uint32_t values[] = {
      h.app, h.app_version, static_cast<uint32_t>(h.os), h.os_version, h.device, h.ram_class, h.op_set, h.vm};
  return values[field];
}

bool holds(const PlanSegment& segment, const DeviceHeader& h) {
  for (const PlanCondition& c : segment.conditions) {
    const uint32_t value = c.field == kBucketField ? bucket_value(c.salt, h.bucket) : value_of(h, c.field);
    bool in = false;
    for (const PlanSpan& s : c.spans) in = in || (s.low <= value && value <= s.high);
    if (!in) return false;
  }
  return true;
}

bool suits(const PlanRelease& release, const DeviceHeader& h) {
  bool any = release.segments.empty();
  for (const PlanSegment& s : release.segments) any = any || holds(s, h);
  return any;
}

// One task's releases [from, to).
Choice choice_of(const PlanData& plan, size_t from, size_t to, const DeviceHeader& h, int64_t now) {
  Choice out;
  for (size_t r = from; r < to; ++r) {
    const PlanRelease& release = plan.releases[r];
    if (!suits(release, h)) continue;
    const uint32_t place = bucket_value(salt_of(release.id), h.bucket);
    if (!release.ramp || place < share_at(*release.ramp, now)) {
      out.release = static_cast<uint32_t>(r);
      if (release.ramp) {
        out.trial = out.release;
        out.cohort = Cohort::treated;
      }
      return out;
    }
    if (place >= kWhole - control_at(*release.ramp, now)) {
      out.trial = static_cast<uint32_t>(r);
      out.cohort = Cohort::control;
    }
  }
  return out;
}

std::vector<Choice> reference(const PlanData& plan, const DeviceHeader& h, int64_t now) {
  std::vector<Choice> out;
  for (size_t from = 0, to = 0; from < plan.releases.size(); from = to) {
    const std::string& task = plan.releases[from].task;
    while (to < plan.releases.size() && plan.releases[to].task == task) ++to;
    bool killed = false;
    for (const PlanKill& k : plan.kills) killed = killed || k.task == task;
    const Choice made = choice_of(plan, from, to, h, now);
    if (!killed && (made.release != kNoRelease || made.trial != kNoRelease)) out.push_back(made);
  }
  return out;
}

// What docs/reference/formats/plan.md says of it.
uint32_t digest_of(const PlanData& plan, const std::vector<Choice>& choices) {
  uint64_t sum = 0;
  for (const Choice& c : choices) {
    if (c.release != kNoRelease) {
      const PlanRelease& r = plan.releases[c.release];
      sum += base::Hasher().text(r.scenario).text(r.task).text(r.sha256).finish();
    }
    if (c.trial != kNoRelease && c.cohort == Cohort::control) {
      const PlanRelease& r = plan.releases[c.trial];
      sum += base::Hasher().text("control").text(r.scenario).text(r.task).text(r.id).finish();
    }
  }
  const auto folded = static_cast<uint32_t>(base::mix(0, sum) >> 32);
  return choices.empty() ? 0 : folded ? folded : 1;
}

TEST(DecideRandom, TheTableDecidesAsTheRulesDo) {
  const uint32_t seed = test_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  size_t treated = 0, control = 0, many = 0;
  for (int round = 0; round < 60; ++round) {
    const PlanData data = plan(random);
    const auto bytes = write_plan(data);
    ASSERT_TRUE(bytes.ok()) << bytes.error().message();
    const auto read = Plan::read(*bytes);
    ASSERT_TRUE(read.ok()) << read.error().message();
    for (int i = 0; i < 60; ++i) {
      const DeviceHeader h = header(random);
      const int64_t now = kStart - 10 + random.below(1020);
      const std::vector<Choice> expected = reference(data, h, now);
      const Decision decision = decide(*read, h, now);
      ASSERT_EQ(decision.choices.size(), expected.size());
      for (size_t c = 0; c < expected.size(); ++c) {
        ASSERT_EQ(decision.choices[c].release, expected[c].release);
        ASSERT_EQ(decision.choices[c].trial, expected[c].trial);
        ASSERT_EQ(decision.choices[c].cohort, expected[c].cohort);
        const bool tried = expected[c].trial != kNoRelease;
        (expected[c].cohort == Cohort::control ? control : treated) += tried;
      }
      ASSERT_EQ(decision.digest, digest_of(data, expected));
      ASSERT_EQ(decide_digest(*read, h, now), decision.digest);
      many += expected.size() > 20;
    }
  }
  // The plans are worth asking about: otherwise nothing above was compared.
  EXPECT_GT(treated, 500u);
  EXPECT_GT(control, 50u);
  EXPECT_GT(many, 200u);
}

}  // namespace
}  // namespace walle::link
