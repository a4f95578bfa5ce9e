// Triggers through a matcher, as cases that enumeration (brute_force.h) can be asked about.
#pragma once

#include <gtest/gtest.h>

#include "stream/brute_force.h"

namespace walle::stream::testing {

// One case: triggers together, some added or removed on the way, a snapshot taken and restored somewhere,
// and every firing compared with enumeration.
struct Case {
  std::vector<TriggerSpec> specs;
  std::vector<CompiledTrigger> triggers;
  std::vector<size_t> add_at, remove_at;
  std::vector<bool> past = {};  // whether one that is added late counts what was before; none where shorter
  std::vector<Recorded> events;
  size_t cut;
  int64_t end;  // a time at which most absences have come true
};

// From when on trigger `t` counts.
inline size_t counts_from(const Case& c, size_t t) {
  return t < c.past.size() && c.past[t] ? 0 : c.add_at[t];
}

// Adds trigger `t` with all that was before event `at`; what that completed goes to `out`.
inline uint16_t add_with_past(Matcher& m, const Case& c, size_t t, size_t at, std::vector<Fired>& out) {
  const auto past = m.for_past();
  const uint16_t there = *past->add(c.triggers[t]);
  for (size_t i = 0; i < at; ++i) {
    past->step(c.events[i].event);
    for (Firing f; past->queue().pop(f);) out.push_back({f.ts, f.seq});
  }
  const Matcher::PastTrigger pair{.here = *m.add(c.triggers[t]), .past = there};
  const Status taken = m.take_past(*past, {&pair, 1});
  EXPECT_TRUE(taken.ok()) << taken.error().message();
  return pair.here;
}

inline std::vector<std::vector<Fired>> run_matcher(const Case& c, const Catalog& catalog,
                                                   int64_t final_time) {
  auto m = std::make_unique<Matcher>(catalog);
  std::vector<uint16_t> ids(c.triggers.size(), kNone);
  std::vector<std::vector<Fired>> out(c.triggers.size());
  const auto drain = [&] {
    for (Firing f; m->queue().pop(f);)
      for (size_t t = 0; t < ids.size(); ++t)
        if (ids[t] == f.trigger) out[t].push_back({f.ts, f.seq});
  };
  for (size_t i = 0; i < c.events.size(); ++i) {
    for (size_t t = 0; t < ids.size(); ++t) {
      if (i == c.add_at[t] && i < c.remove_at[t])
        ids[t] = counts_from(c, t) == i ? *m->add(c.triggers[t]) : add_with_past(*m, c, t, i, out[t]);
      if (i == c.remove_at[t] && ids[t] != kNone) {
        m->remove(ids[t], c.triggers[t]);
        ids[t] = kNone;
      }
    }
    if (i == c.cut) {  // another matcher, the triggers added in the other order, goes on from the snapshot
      const std::string state = m->snapshot();
      auto next = std::make_unique<Matcher>(catalog);
      for (size_t t = ids.size(); t-- > 0;)
        if (ids[t] != kNone) ids[t] = *next->add(c.triggers[t]);
      const auto unknown = next->restore(state);
      EXPECT_TRUE(unknown.ok()) << unknown.error().message();
      m = std::move(next);
    }
    m->step(c.events[i].event);
    drain();
  }
  m->advance(final_time);
  drain();
  return out;
}

}  // namespace walle::stream::testing
