// DimTrace: what one pass over sizes that are symbols has computed and decided - every size as a polynomial,
// every comparison as a condition - so that other values of the symbols can be put in without the pass.
//
// A size is a sum of products of atoms with whole coefficients; an atom is a symbol, or a quotient or a
// remainder that does not come out even. Equal sizes have one term, so that (4 * n + 64) / 4 == n + 16 is no
// condition at all, and the layers of a network share theirs.
//
// Serves one thread, as the innermost Scope of it; terms mean nothing outside of their trace.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "tensor/dim.h"

namespace walle::tensor {

class DimTrace {
 public:
  // Sizes of 0 and 1 broadcast and vanish: plans for them have a form of their own, and are made apart.
  static constexpr int64_t kLeastSymbol = 2;

  // A size that is `value` now and may be any number from kLeastSymbol on. Precondition: `value` is one.
  Dim symbol(int64_t value);
  int symbols() const { return symbols_; }
  // False when sizes became longer sums, or more of them, than a plan may take: then nothing here counts.
  bool complete() const { return complete_; }
  // Answers so far that other values of the symbols might have changed.
  int64_t answers() const { return answers_; }

  class Scope {
   public:
    explicit Scope(DimTrace* trace);  // nullptr: within it symbols are plain numbers, and nothing is noted
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    DimTrace* outer_;
  };
  static DimTrace* current();

 private:
  friend class Dim;
  friend class DimProgram;

  // Of terms; 12 layers of a decoder take some hundred. And of the products in a sum and the factors in a
  // product, which a hostile file multiplies without end.
  static constexpr size_t kMaxTerms = size_t{1} << 15;
  static constexpr size_t kMaxProducts = 64;
  static constexpr size_t kMaxFactors = 16;

  using AtomId = uint32_t;
  enum class AtomKind : uint8_t { symbol, quotient, remainder };
  struct Atom {
    AtomKind kind = AtomKind::symbol;
    Dim::Term a = 0;  // a symbol's: its number
    Dim::Term b = 0;
    auto operator<=>(const Atom&) const = default;
  };
  using Product = std::vector<AtomId>;            // sorted; empty: the number 1
  using Polynomial = std::map<Product, int64_t>;  // no coefficient of 0
  enum class Asked : uint8_t { negative, zero };
  struct Condition {
    Asked asked = Asked::zero;
    Dim::Term term = 0;
    bool holds = false;
    auto operator<=>(const Condition&) const = default;
  };
  // In the order in which they are computed.
  struct Step {
    bool is_atom = false;
    uint32_t index = 0;
  };
  struct Bounds {
    std::optional<int64_t> least, most;
  };
  struct Split {
    Polynomial even, rest;  // of a division
  };

  Polynomial polynomial(Dim d) const;
  Dim::Term term(Polynomial p);
  Dim dim(Polynomial p);
  Dim atom(const Atom& a, int64_t value);
  int64_t value_of(const Polynomial& p) const;
  Bounds bounds(const Polynomial& p) const;
  Split split(const Polynomial& a, const Polynomial& b) const;
  Dim divided(Dim a, Dim b, AtomKind kind);
  bool decide(Asked asked, Dim d);
  void pin(Dim d);

  bool complete_ = true;
  int symbols_ = 0;
  int64_t answers_ = 0;
  std::vector<Atom> atoms_;
  std::vector<int64_t> atom_values_;
  std::vector<bool> atom_never_negative_;
  std::map<Atom, AtomId> atom_ids_;
  std::vector<Polynomial> terms_{1};  // the term 0 is every plain number
  std::map<Polynomial, Dim::Term> term_ids_;
  std::vector<Step> steps_;
  std::set<Condition> conditions_;
};

}  // namespace walle::tensor

namespace walle {
using tensor::DimTrace;
}
