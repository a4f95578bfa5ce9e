#include "tensor/dim_trace.h"

#include <algorithm>
#include <iterator>

#include "base/checked.h"

namespace walle::tensor {

namespace {
thread_local DimTrace* current_trace = nullptr;
}  // namespace

DimTrace::Scope::Scope(DimTrace* trace) : outer_(current_trace) { current_trace = trace; }
DimTrace::Scope::~Scope() { current_trace = outer_; }
DimTrace* DimTrace::current() { return current_trace; }

Dim DimTrace::symbol(int64_t value) { return atom({.a = static_cast<Dim::Term>(symbols_++)}, value); }

DimTrace::Polynomial DimTrace::polynomial(Dim d) const {
  if (d.symbolic()) return terms_[d.term()];
  return d.value() == 0 ? Polynomial() : Polynomial{{Product(), d.value()}};
}

Dim::Term DimTrace::term(Polynomial p) {
  if (const auto known = term_ids_.find(p); known != term_ids_.end()) return known->second;
  const auto id = static_cast<Dim::Term>(terms_.size());
  terms_.push_back(p);
  term_ids_.emplace(std::move(p), id);
  steps_.push_back({.is_atom = false, .index = id});
  return id;
}

// Sizes that overflow are refused by whoever looks at them; until then the sum only must not be undefined.
int64_t DimTrace::value_of(const Polynomial& p) const {
  uint64_t sum = 0;
  for (const auto& [product, coefficient] : p) {
    auto share = static_cast<uint64_t>(coefficient);
    for (const AtomId a : product) share *= static_cast<uint64_t>(atom_values_[a]);
    sum += share;
  }
  return static_cast<int64_t>(sum);
}

Dim DimTrace::dim(Polynomial p) {
  std::erase_if(p, [](const auto& e) { return e.second == 0; });
  if (p.empty()) return 0;
  if (p.size() == 1 && p.begin()->first.empty()) return p.begin()->second;
  const int64_t value = value_of(p);
  complete_ = complete_ && terms_.size() < kMaxTerms && p.size() <= kMaxProducts &&
              std::ranges::all_of(p, [](const auto& e) { return e.first.size() <= kMaxFactors; });
  if (!complete_) return value;
  return {value, term(std::move(p))};
}

Dim DimTrace::atom(const Atom& a, int64_t value) {
  const auto [at, fresh] = atom_ids_.emplace(a, static_cast<AtomId>(atoms_.size()));
  if (fresh) {
    // Of a division towards zero: not negative where neither side is.
    const auto never = [&](Dim::Term t) { return bounds(terms_[t]).least.value_or(-1) >= 0; };
    atom_never_negative_.push_back(a.kind == AtomKind::symbol || (never(a.a) && never(a.b)));
    atoms_.push_back(a);
    atom_values_.push_back(value);
    steps_.push_back({.is_atom = true, .index = at->second});
  }
  return dim({{Product{at->second}, 1}});
}

// Whatever values the symbols have; nothing where that does not say.
DimTrace::Bounds DimTrace::bounds(const Polynomial& p) const {
  Bounds out{.least = 0, .most = 0};
  for (const auto& [product, coefficient] : p) {
    // The least value of the product; its most is open, unless it is the number 1.
    std::optional<int64_t> least = 1;
    for (const AtomId a : product) {
      if (!atom_never_negative_[a]) return {};
      if (least) least = base::checked_mul(*least, atoms_[a].kind == AtomKind::symbol ? kLeastSymbol : 0);
    }
    const auto share = least ? base::checked_mul(*least, coefficient) : std::nullopt;
    const auto grown = [&](std::optional<int64_t> sum) {
      return sum && share ? base::checked_add(*sum, *share) : std::nullopt;
    };
    out.least = coefficient > 0 || product.empty() ? grown(out.least) : std::nullopt;
    out.most = coefficient < 0 || product.empty() ? grown(out.most) : std::nullopt;
  }
  return out;
}

bool DimTrace::decide(Asked asked, Dim d) {
  const Bounds known = bounds(terms_[d.term()]);
  const bool negative = asked == Asked::negative;
  if (known.least && *known.least >= (negative ? 0 : 1)) return false;
  if (known.most && *known.most < 0) return negative;
  const bool holds = negative ? d.value() < 0 : d.value() == 0;
  ++answers_;
  conditions_.insert({asked, d.term(), holds});
  return holds;
}

void DimTrace::pin(Dim d) {
  Polynomial p = terms_[d.term()];
  p[Product()] -= d.value();
  const Dim distance = dim(std::move(p));
  if (!distance.symbolic()) return;
  ++answers_;
  conditions_.insert({Asked::zero, distance.term(), true});
}

// a = even * b + rest, by the long division of polynomials: as long as the heaviest product that is left is
// one of the heaviest of b, evenly.
DimTrace::Split DimTrace::split(const Polynomial& a, const Polynomial& b) const {
  // The order of products is not kept by multiplying, so that it might not end.
  constexpr int kMaxSteps = 64;
  Split out{.even = {}, .rest = {}};
  Polynomial left = a;
  const auto& [divisor, number] = *b.rbegin();
  for (int step = 0; !left.empty(); ++step) {
    if (step == kMaxSteps) return {.even = {}, .rest = a};
    const auto [product, coefficient] = *left.rbegin();
    Product factor;
    std::ranges::set_difference(product, divisor, std::back_inserter(factor));
    if (coefficient % number != 0 || factor.size() + divisor.size() != product.size()) {
      out.rest[product] += coefficient;
      left.erase(product);
      continue;
    }
    const int64_t times = coefficient / number;
    out.even[factor] += times;
    for (const auto& [p, c] : b) {
      Product both;
      std::ranges::merge(p, factor, std::back_inserter(both));
      if ((left[both] -= c * times) == 0) left.erase(both);
    }
  }
  return out;
}

// Evenly where that can be seen; what is left over is an atom of its own.
Dim DimTrace::divided(Dim a, Dim b, AtomKind kind) {
  const bool quotient = kind == AtomKind::quotient;
  if (!a.symbolic() && !b.symbolic()) return quotient ? a.value() / b.value() : a.value() % b.value();
  const Polynomial pa = polynomial(a);
  const Polynomial pb = polynomial(b);
  const auto least = [&](const Polynomial& p) { return bounds(p).least.value_or(-1); };
  if (least(pa) >= 0 && bounds(pa).most && *bounds(pa).most < least(pb)) return quotient ? Dim(0) : a;
  const Split parts = split(pa, pb);
  if (parts.rest.empty()) return quotient ? dim(parts.even) : Dim(0);
  // (q * b + r) / b is q + r / b where nothing is negative; elsewhere rounding towards zero differs.
  if (!parts.even.empty() && least(parts.even) >= 0 && least(parts.rest) >= 0 && least(pb) > 0) {
    const Dim rest = divided(dim(parts.rest), b, kind);
    if (!quotient) return rest;
    Polynomial sum = polynomial(rest);
    for (const auto& [product, coefficient] : parts.even) sum[product] += coefficient;
    return dim(std::move(sum));
  }
  const Dim::Term ta = term(pa);
  const Dim::Term tb = term(pb);
  return atom({.kind = kind, .a = ta, .b = tb}, quotient ? a.value() / b.value() : a.value() % b.value());
}

namespace {
// Symbols outlive their trace in shapes that a caller keeps: then they are plain numbers.
bool traced() { return current_trace != nullptr; }
}  // namespace

void Dim::pin(Dim d) {
  if (d.symbolic() && traced()) current_trace->pin(d);
}

Dim Dim::sum(Dim a, Dim b) {
  if (!traced()) return a.value() + b.value();
  auto p = current_trace->polynomial(a);
  for (const auto& [product, coefficient] : current_trace->polynomial(b)) {
    const auto sum = base::checked_add(p[product], coefficient);
    p[product] = sum.value_or(0);
    current_trace->complete_ = current_trace->complete_ && sum;
  }
  return current_trace->dim(std::move(p));
}

Dim Dim::difference(Dim a, Dim b) {
  if (!traced()) return a.value() - b.value();
  auto p = current_trace->polynomial(a);
  for (const auto& [product, coefficient] : current_trace->polynomial(b)) {
    const auto least = base::checked_sub(p[product], coefficient);
    p[product] = least.value_or(0);
    current_trace->complete_ = current_trace->complete_ && least;
  }
  return current_trace->dim(std::move(p));
}

Dim Dim::product(Dim a, Dim b) {
  if (!traced()) return a.value() * b.value();
  DimTrace::Polynomial p;
  const auto pb = current_trace->polynomial(b);
  for (const auto& [left, x] : current_trace->polynomial(a))
    for (const auto& [right, y] : pb) {
      DimTrace::Product both;
      std::ranges::merge(left, right, std::back_inserter(both));
      const auto share = base::checked_mul(x, y);
      const auto sum = share ? base::checked_add(p[both], *share) : std::nullopt;
      p[both] = sum.value_or(0);
      current_trace->complete_ = current_trace->complete_ && sum;
    }
  return current_trace->dim(std::move(p));
}

Dim Dim::quotient(Dim a, Dim b) {
  if (!traced()) return a.value() / b.value();
  return current_trace->divided(a, b, DimTrace::AtomKind::quotient);
}

Dim Dim::remainder(Dim a, Dim b) {
  if (!traced()) return a.value() % b.value();
  return current_trace->divided(a, b, DimTrace::AtomKind::remainder);
}

bool Dim::negative(Dim d) {
  if (!d.symbolic() || !traced()) return d.value() < 0;
  return current_trace->decide(DimTrace::Asked::negative, d);
}

std::string text(Dim d) {
  std::string out = std::to_string(d.value());
  if (d.symbolic()) out.append("#").append(std::to_string(d.term()));
  return out;
}

bool Dim::zero(Dim d) {
  if (!d.symbolic() || !traced()) return d.value() == 0;
  return current_trace->decide(DimTrace::Asked::zero, d);
}

}  // namespace walle::tensor
