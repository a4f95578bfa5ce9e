// Random triggers and event streams over a small world, dense enough that most triggers fire.
#pragma once

#include <random>

#include "stream/match/matcher.h"

namespace walle::stream::testing {

inline Catalog small_world() {
  Catalog c;
  for (const char* name : {"a", "b", "c"})
    if (!c.declare({name,
                    EventKind::custom,
                    {{"x", ColumnType::integer, Sensitivity::open, 0},
                     {"who", ColumnType::text, Sensitivity::open, 0}}})
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
  // Times of a case are whole units: microseconds, or hours so that days and weeks pass.
  RandomCase(const Catalog& catalog, uint64_t seed)
      : catalog_(catalog), random_(seed), unit_(seed % 4 == 3 ? 5 * kHourUs : 1) {}

  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  int64_t time(int most) { return (1 + below(most)) * unit_; }
  int64_t unit() const { return unit_; }

  Atom atom(int any_percent) {
    Atom a;
    if (!chance(any_percent)) a.event = event();
    if (chance(20)) a.page = chance(50) ? "p" : "q";
    if (chance(15)) a.predicate = predicate();
    return a;
  }

  std::vector<Atom> atoms(int any_percent) {
    std::vector<Atom> out{atom(any_percent)};
    if (chance(15)) out.push_back(atom(any_percent));
    return out;
  }

  TriggerSpec trigger() {
    TriggerSpec s;
    if (chance(12)) {
      aggregate(s);
    } else {
      pattern(s.steps);
      if (chance(10)) pattern(s.others.emplace_back());
      if (!s.others.empty() && chance(50)) s.own_within = {time(12)};
    }
    const bool aggregates = s.aggregate.kind != TriggerAggregateKind::none;
    if (chance(40)) s.within_us = time(12);
    if (chance(10) && !aggregates) s.gap_us = time(6);
    if (s.aggregate.of_numbers() && s.within_us) s.aggregate.keep = 40;
    scope(s);
    if (chance(12) && !aggregates && s.others.empty()) {
      s.absent = atoms(5);
      s.absent_us = time(6);
    } else {
      s.every = chance(30);
    }
    limits(s);
    if (chance(10)) s.when = {{{"wifi", chance(50)}}};
    if (!s.when.empty() && chance(40)) s.when.push_back({{"charging", true}, {"wifi", false}});
    if (unit_ > 1 && chance(25)) s.during.push_back(span());
    if (!s.during.empty() && chance(30)) s.during.push_back(span());
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
      ts += below(3) * unit_;
      e.seq = i + 1;
      e.ts = ts;
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
  std::string event() { return std::string(1, static_cast<char>('a' + below(3))); }
  Literal whole(int64_t v) { return {ColumnType::integer, v, static_cast<double>(v), ""}; }

  void add(Predicate& p, PredicateOp op, std::string field, std::vector<Literal> literals = {},
           size_t left = 0, size_t right = 0) {
    Predicate::Node n;
    n.op = op;
    n.field = std::move(field);
    n.literals = std::move(literals);
    n.left = static_cast<uint16_t>(left);
    n.right = static_cast<uint16_t>(right);
    p.nodes.push_back(std::move(n));
  }
  PredicateOp order() { return static_cast<PredicateOp>(static_cast<int>(PredicateOp::eq) + below(6)); }

  Predicate predicate() {
    Predicate p;
    if (chance(20)) {
      constexpr PredicateOp tests[] = {PredicateOp::contains, PredicateOp::starts_with,
                                       PredicateOp::ends_with};
      add(p, tests[below(3)], "who", {{ColumnType::text, 0, 0, chance(50) ? "u" : "v"}});
    } else if (chance(30)) {
      add(p, PredicateOp::value, "x");
      add(p, PredicateOp::number, "", {whole(1 + below(2))});
      add(p, static_cast<PredicateOp>(static_cast<int>(PredicateOp::add) + below(5)), "", {}, 0, 1);
      add(p, PredicateOp::number, "", {whole(below(3))});
      add(p, order(), "", {}, 2, 3);
    } else {
      add(p, order(), "x", {whole(below(3))});
    }
    if (chance(25)) add(p, PredicateOp::logical_not, "", {}, p.nodes.size() - 1);
    return p;
  }
  // x against the x of the step before.
  Predicate comparison(const std::string& before) {
    Predicate p;
    add(p, PredicateOp::value, "x");
    add(p, PredicateOp::reference, "x", {{ColumnType::text, 0, 0, before}});
    add(p, order(), "", {}, 0, 1);
    return p;
  }

  void pattern(std::vector<Step>& steps) {
    const int count = 1 + below(4);
    for (int i = 0; i < count; ++i) {
      Step step;
      if (i) {
        edge(step);
      } else if (chance(10)) {
        step.guard = atoms(5);
        if (chance(50)) step.gap_us = time(6);
      }
      if (chance(8)) {
        for (int n = 2 + below(2); n-- > 0;) step.all_of.push_back(atoms(10));
      } else {
        step.any_of = atoms(10);
        if (chance(12)) step.count = 2 + below(2);
        compare(step, steps);
      }
      step.optional = count > 1 && chance(12);
      steps.push_back(step);
    }
  }
  void edge(Step& step) {
    step.follow = chance(25) ? Follow::next : chance(20) ? Follow::newest : Follow::later;
    if (step.follow != Follow::next && chance(25)) step.guard = atoms(5);
    if (chance(15)) step.gap_us = time(6);
    if (step.follow != Follow::later && chance(15)) {
      step.least_us = time(3);
      if (step.gap_us) *step.gap_us += step.least_us;
    }
  }
  void compare(Step& step, const std::vector<Step>& steps) {
    if (steps.empty() || step.follow == Follow::later || step.count > 1 || !chance(40)) return;
    if (steps.back().any_of.empty() || steps.back().any_of[0].event == "*") return;
    step.any_of[0].predicate = comparison(steps.back().any_of[0].event);
  }

  void aggregate(TriggerSpec& s) {
    Step step;
    step.any_of = atoms(30);
    s.steps.push_back(step);
    TriggerAggregate& a = s.aggregate;
    a.kind = static_cast<TriggerAggregateKind>(1 + below(6));
    if (a.of_numbers()) {
      constexpr PredicateOp orders[] = {PredicateOp::gt, PredicateOp::ge, PredicateOp::lt, PredicateOp::le};
      a.field = "x";
      a.op = orders[below(4)];
      a.bound = whole(below(6));
      return;
    }
    constexpr PredicateOp orders[] = {PredicateOp::gt, PredicateOp::ge, PredicateOp::eq};
    if (a.kind == TriggerAggregateKind::distinct) a.field = chance(50) ? "x" : "who";
    a.op = orders[below(3)];
    a.bound = whole(1 + below(3));
  }

  void scope(TriggerSpec& s) {
    const int scope = below(100);
    s.scope = scope < 50 ? Scope::device : scope < 65 ? Scope::session : scope < 80 ? Scope::page : Scope::by;
    if (s.scope != Scope::by) return;
    s.by.fields = {"who"};
    if (chance(25)) s.by.fields = {"who", "x"};
    s.by.page = chance(35);
    s.by.session = chance(15);
  }
  void limits(TriggerSpec& s) {
    const auto per = [&](LimitKey& limit) {
      if (chance(50)) return;
      if (chance(70)) limit.key.fields = {chance(60) ? "who" : "x"};
      limit.key.page = chance(20);
      limit.key.session = limit.key.empty() || chance(20);
    };
    if (chance(10)) {
      s.once = true;
      per(s.once_per);
    }
    if (chance(10)) {
      s.cooldown_us = time(8);
      per(s.cooldown_per);
    }
    if (chance(10)) {
      s.rate = 1 + below(3);
      s.rate_us = time(12);
      per(s.rate_per);
    }
  }
  DaySpan span() {
    DaySpan out{.wanted = chance(80)};
    if (chance(60)) out.days = static_cast<uint8_t>(1 + below(127));
    out.from_minute = below(24) * 60;
    out.to_minute = (out.from_minute + 60 * (1 + below(23))) % DaySpan::kDayMinutes;
    return out;
  }

  const Catalog& catalog_;
  std::mt19937_64 random_;
  const int64_t unit_;
};

}  // namespace walle::stream::testing
