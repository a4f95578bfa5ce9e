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

// Calls each(choice) for every task with a package or a trial, in the plan's order.
template <class Each>
void walk(const Plan& plan, const DeviceHeader& header, int64_t now_s, const Each& each) {
  const DecisionTable& table = PlanAccess::table(plan);
  std::array<uint64_t, kSegmentWords> bits;
  const size_t words = table.match(header, bits);
  uint32_t task = kNoRelease;     // of the segment before
  uint32_t release = kNoRelease;  // the same; judged already, whichever of its segments holds
  bool decided = false;           // `task` is
  Choice open;                    // control of a trial, and no package yet
  const auto flush = [&] {
    if (!decided && open.trial != kNoRelease) each(open);
  };
  for (size_t w = 0; w < words; ++w) {
    for (uint64_t left = bits[w]; left; left &= left - 1) {
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
  Digest digest(PlanAccess::table(plan));
  walk(plan, header, now_s, [&](const Choice& choice) {
    out.choices.push_back(choice);
    digest.add(choice);
  });
  out.digest = digest.finish();
  return out;
}

uint32_t decide_digest(const Plan& plan, const DeviceHeader& header, int64_t now_s) {
  Digest digest(PlanAccess::table(plan));
  walk(plan, header, now_s, [&](const Choice& choice) { digest.add(choice); });
  return digest.finish();
}

bool up_to_date(const Plan& plan, const DeviceHeader& header, int64_t now_s) {
  return header.active == decide_digest(plan, header, now_s);
}

}  // namespace walle::link
