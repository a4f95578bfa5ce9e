// Random triggers and event streams over a small world, dense enough that most triggers fire.
#pragma once

#include <random>

#include "stream/match/matcher.h"

namespace walle::stream::testing {

inline Catalog small_world() {
  Catalog c;
  for (const char* name : {"a", "b", "c"})
    if (!c.declare(
              {name,
               EventKind::custom,
               {{"x", FieldType::i64, Sensitivity::open, 0}, {"who", FieldType::text, Sensitivity::open, 0}}})
             .ok())
      std::abort();
  for (const char* page : {"p", "q"})
    if (!c.page(page).ok()) std::abort();
  for (const char* state : {"wifi", "charging"})
    if (!c.state(state).ok()) std::abort();
  return c;
}

struct Recorded {
  Event event;
  std::vector<Value> values;
};

class RandomCase {
 public:
  RandomCase(const Catalog& catalog, uint64_t seed) : catalog_(catalog), random_(seed) {}

  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  bool chance(int percent) { return below(100) < percent; }

  Atom atom(int any_percent) {
    Atom a;
    if (!chance(any_percent)) a.event = std::string(1, static_cast<char>('a' + below(3)));
    if (chance(20)) a.page = chance(50) ? "p" : "q";
    if (chance(15)) {
      Predicate::Node n;
      n.op = static_cast<PredicateOp>(static_cast<int>(PredicateOp::eq) + below(6));
      n.field = "x";
      const int64_t v = below(3);
      n.literals.push_back({FieldType::i64, v, static_cast<double>(v), ""});
      a.predicate.nodes.push_back(n);
      if (chance(25)) {
        Predicate::Node negation;
        negation.op = PredicateOp::logical_not;
        a.predicate.nodes.push_back(negation);
      }
    }
    return a;
  }

  std::vector<Atom> atoms(int any_percent) {
    std::vector<Atom> out{atom(any_percent)};
    if (chance(15)) out.push_back(atom(any_percent));
    return out;
  }

  TriggerSpec trigger() {
    TriggerSpec s;
    const int steps = 1 + below(4);
    for (int i = 0; i < steps; ++i) {
      Step step;
      if (i) {
        step.follow = chance(25) ? Follow::next : Follow::later;
        if (step.follow == Follow::later && chance(25)) step.guard = atoms(5);
        if (chance(15)) step.gap_us = 1 + below(6);
      }
      step.any_of = atoms(10);
      if (chance(12)) step.count = 2 + below(2);
      step.optional = steps > 1 && chance(12);
      s.steps.push_back(step);
    }
    if (chance(40)) s.within_us = 1 + below(12);
    if (chance(10)) s.gap_us = 1 + below(6);
    const int scope = below(100);
    s.scope = scope < 55 ? Scope::device : scope < 70 ? Scope::session : scope < 85 ? Scope::page : Scope::by;
    if (s.scope == Scope::by) s.by = "who";
    if (chance(12))
      s.absent = atoms(5), s.absent_us = 1 + below(6);
    else
      s.every = chance(30);
    if (chance(8)) s.once = true;
    if (chance(8)) s.cooldown_us = 1 + below(8);
    if (chance(8)) s.rate = 1 + below(3), s.rate_us = 1 + below(12);
    if (chance(10)) s.when = {{{"wifi", chance(50)}}};
    if (!s.when.empty() && chance(40)) s.when.push_back({{"charging", true}, {"wifi", false}});
    return s;
  }

  // `storage` owns what the events' contents refer to.
  std::vector<Recorded> stream(int length) {
    static constexpr const char* who[] = {"u", "v", "w"};
    std::vector<Recorded> out(static_cast<size_t>(length));
    int64_t ts = 1000;
    uint64_t session = 1;
    for (size_t i = 0; i < out.size(); ++i) {
      Event& e = out[i].event;
      ts += below(3);
      e.seq = i + 1, e.ts = ts;
      if (chance(8)) session = e.seq;
      e.session = session;
      if (chance(8)) {
        e.event = *catalog_.find_event("app_state");
        e.page = static_cast<uint16_t>(below(2));
        e.flags = chance(60) ? kStateOn : 0;
      } else {
        e.event = *catalog_.find_event(std::string(1, static_cast<char>('a' + below(3))));
        e.page = static_cast<uint16_t>(below(3));
        e.page_instance = static_cast<uint64_t>(below(3));
        out[i].values.resize(2);
        if (chance(85)) out[i].values[0] = Value::of(int64_t{below(3)});
        if (chance(85)) out[i].values[1] = Value::of(std::string_view(who[below(3)]));
        e.contents = out[i].values;
      }
    }
    return out;
  }

 private:
  const Catalog& catalog_;
  std::mt19937_64 random_;
};

}  // namespace walle::stream::testing
