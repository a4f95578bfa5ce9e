// What the oracle knows of single events: fields, predicates, keys, times of day. Numbers are doubles,
// because those of random cases are small.
#pragma once

#include <chrono>
#include <cmath>
#include <optional>

#include "stream/random_case.h"

namespace walle::stream::testing {

class BruteValues {
 public:
  explicit BruteValues(const Catalog& catalog) : catalog_(catalog) {}

  bool is(const Atom& a, const Event& e, const Event* before) const {
    const bool state = catalog_.events()[e.event].kind == EventKind::app_state;
    if (a.event != "*" && a.event != catalog_.events()[e.event].name) return false;
    if (a.page != "*" && (state || a.page != catalog_.pages()[e.page])) return false;
    return a.predicate.empty() || truth(a.predicate, a.predicate.nodes.size() - 1, e, before);
  }

  static bool holds(PredicateOp op, double a, double b) {
    switch (op) {
      case PredicateOp::eq: return a == b;
      case PredicateOp::ne: return a != b;
      case PredicateOp::lt: return a < b;
      case PredicateOp::le: return a <= b;
      case PredicateOp::gt: return a > b;
      default: return a >= b;
    }
  }

  // "x" and "who" are the world's only fields.
  std::optional<double> number(const Event& e, const std::string& field) const {
    if (field != "x" || e.contents.empty() || !e.contents[0].present) return std::nullopt;
    return static_cast<double>(e.contents[0].i);
  }
  std::optional<std::string> text(const Event& e, const std::string& field) const {
    if (field == "x") {
      const auto x = number(e, field);
      return x ? std::optional(std::to_string(static_cast<int64_t>(*x))) : std::nullopt;
    }
    if (e.contents.size() < 2 || !e.contents[1].present) return std::nullopt;
    return std::string(e.contents[1].text);
  }
  std::string key(const EventKey& key, const Event& e) const {
    std::string out;
    for (const std::string& field : key.fields) out += text(e, field).value_or("none") + ",";
    if (key.page) out += "p" + std::to_string(e.page_instance);
    if (key.session) out += "s" + std::to_string(e.session);
    return out;
  }

 private:
  bool truth(const Predicate& p, size_t at, const Event& e, const Event* before) const {
    const auto& n = p.nodes[at];
    switch (n.op) {
      case PredicateOp::logical_not: return !truth(p, n.left, e, before);
      case PredicateOp::logical_and: return truth(p, n.left, e, before) && truth(p, n.right, e, before);
      case PredicateOp::logical_or: return truth(p, n.left, e, before) || truth(p, n.right, e, before);
      case PredicateOp::contains:
      case PredicateOp::starts_with:
      case PredicateOp::ends_with: {
        const auto value = text(e, n.field);
        if (!value) return false;
        const std::string& part = n.literals[0].text;
        const size_t found = value->find(part);
        if (n.op == PredicateOp::contains) return found != std::string::npos;
        if (n.op == PredicateOp::starts_with) return found == 0;
        return value->size() >= part.size() && value->substr(value->size() - part.size()) == part;
      }
      default: break;
    }
    const auto a = n.field.empty() ? value(p, n.left, e, before) : number(e, n.field);
    const auto b = n.field.empty() ? value(p, n.right, e, before) : std::optional(n.literals[0].d);
    return a && b && holds(n.op, *a, *b);
  }

  std::optional<double> value(const Predicate& p, size_t at, const Event& e, const Event* before) const {
    const auto& n = p.nodes[at];
    if (n.op == PredicateOp::number) return n.literals[0].d;
    if (n.op == PredicateOp::value) return number(e, n.field);
    if (n.op == PredicateOp::reference) {
      const bool named = before && catalog_.events()[before->event].name == n.literals[0].text;
      return named ? number(*before, n.field) : std::nullopt;
    }
    const auto a = value(p, n.left, e, before);
    if (n.op == PredicateOp::negate) return a ? std::optional(-*a) : std::nullopt;
    const auto b = value(p, n.right, e, before);
    if (!a || !b) return std::nullopt;
    switch (n.op) {
      case PredicateOp::add: return *a + *b;
      case PredicateOp::subtract: return *a - *b;
      case PredicateOp::multiply: return *a * *b;
      case PredicateOp::divide: return *b == 0 ? std::nullopt : std::optional(*a / *b);
      default: return *b == 0 ? std::nullopt : std::optional(*a - *b * std::floor(*a / *b));
    }
  }

  const Catalog& catalog_;
};

// In UTC, by the calendar of the standard library.
inline bool is_time(const std::vector<DaySpan>& spans, int64_t ts) {
  using namespace std::chrono;
  const sys_time<microseconds> at{microseconds(ts)};
  const auto day = floor<days>(at);
  const auto minute = static_cast<int>(floor<minutes>(at - day).count());
  const auto on = [](const DaySpan& s, sys_days d) {
    return (s.days >> (weekday(d).iso_encoding() - 1) & 1) != 0;
  };
  for (const DaySpan& s : spans) {
    const bool past_midnight = s.to_minute < s.from_minute;
    bool in = on(s, day) && minute >= s.from_minute && (past_midnight || minute < s.to_minute);
    in = in || (past_midnight && on(s, day - days(1)) && minute < s.to_minute);
    if (in == s.wanted) return true;
  }
  return spans.empty();
}

}  // namespace walle::stream::testing
