#include "link/policy/decide.h"

#include <algorithm>
#include <bit>

#include "base/hash.h"
#include "link/policy/decision_table.h"

namespace walle::link {

struct PlanAccess {
  static const DecisionTable& table(const Plan& plan) { return *plan.table_; }
};

namespace {

// Bits of the segments that hold; only the first `words` are set.
struct Held {
  Held(const DecisionTable& table, const DeviceHeader& header) : words(table.match(header, bits)) {}
  std::array<uint64_t, kSegmentWords> bits;
  size_t words;
};

// Calls each(choice) for every task with a package or a trial among what holds, in the plan's order.
template <class Each>
void walk(const Plan& plan, const DeviceHeader& header, int64_t now_s, const Held& held, const Each& each) {
  const DecisionTable& table = PlanAccess::table(plan);
  uint32_t task = kNoRelease;     // of the segment before
  uint32_t release = kNoRelease;  // the same; judged already, whichever of its segments holds
  bool decided = false;           // `task` is
  Choice open;                    // control of a trial, and no package yet
  const auto flush = [&] {
    if (!decided && open.trial != kNoRelease) each(open);
  };
  for (size_t w = 0; w < held.words; ++w) {
    for (uint64_t left = held.bits[w]; left; left &= left - 1) {
      const auto& segment = table.segment(w * 64 + static_cast<size_t>(std::countr_zero(left)));
      if (segment.task != task) {
        flush();
        task = segment.task;
        decided = false;
        open = {};
      }
      if (decided || segment.release == release || !table.in_buckets(segment, header.bucket)) continue;
      release = segment.release;
      Choice choice = open;
      choice.release = release;
      if (table.release(release).gray) {
        const PlanRamp& ramp = *plan.releases()[release].ramp;
        const uint32_t place = bucket_value(table.release(release).salt, header.bucket);
        if (place >= share_at(ramp, now_s)) {
          if (place >= kWhole - control_at(ramp, now_s))
            open = {.release = kNoRelease, .trial = release, .cohort = Cohort::control};
          continue;
        }
        choice.trial = release;
      }
      each(choice);
      decided = true;
    }
  }
  flush();
}

// Adds up, so that the order of tasks counts nothing.
class Digest {
 public:
  explicit Digest(const DecisionTable& table) : table_(table) {}
  // Leaves in `held` what has to be walked.
  void take_plain(Held& held) {
    for (size_t w = 0; w < held.words; ++w) {
      const uint64_t before = held.bits[w];
      sum_ += table_.take_plain(w, held.bits[w]);
      any_ = any_ || before != held.bits[w];
    }
  }
  void add(const Choice& choice) {
    any_ = true;
    if (choice.release != kNoRelease) sum_ += table_.release(choice.release).content;
    if (choice.trial != kNoRelease && choice.cohort == Cohort::control)
      sum_ += table_.release(choice.trial).control;
  }
  uint32_t finish() const {
    const auto folded = static_cast<uint32_t>(base::mix(0, sum_) >> 32);
    return !any_ ? 0 : folded ? folded : 1;
  }

 private:
  const DecisionTable& table_;
  uint64_t sum_ = 0;
  bool any_ = false;
};

}  // namespace

Decision decide(const Plan& plan, const DeviceHeader& header, int64_t now_s) {
  Decision out;
  const Held held(PlanAccess::table(plan), header);
  Digest digest(PlanAccess::table(plan));
  walk(plan, header, now_s, held, [&](const Choice& choice) {
    out.choices.push_back(choice);
    digest.add(choice);
  });
  out.digest = digest.finish();
  return out;
}

uint32_t decide_digest(const Plan& plan, const DeviceHeader& header, int64_t now_s) {
  Held held(PlanAccess::table(plan), header);
  Digest digest(PlanAccess::table(plan));
  digest.take_plain(held);
  walk(plan, header, now_s, held, [&](const Choice& choice) { digest.add(choice); });
  return digest.finish();
}

bool up_to_date(const Plan& plan, const DeviceHeader& header, int64_t now_s) {
  return header.active == decide_digest(plan, header, now_s);
}

}  // namespace walle::link
