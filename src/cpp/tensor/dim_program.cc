#include "tensor/dim_program.h"

#include <limits>

namespace walle::tensor {

// Gives what is needed, and nothing else, a place among the values.
class DimProgram::Writer {
 public:
  Writer(const DimTrace& trace, DimProgram& program)
      : trace_(trace),
        program_(program),
        term_needed_(trace.terms_.size()),
        atom_needed_(trace.atoms_.size()),
        term_at_(trace.terms_.size()),
        atom_at_(trace.atoms_.size()) {}

  void need(Dim::Term term) { term_needed_[term] = true; }
  uint32_t at(Dim::Term term) const { return term_at_[term]; }

  // Backwards to see what is needed, then forwards to write it.
  void write() {
    for (auto step = trace_.steps_.rbegin(); step != trace_.steps_.rend(); ++step) mark(*step);
    for (const DimTrace::Step& step : trace_.steps_) {
      if (step.is_atom && atom_needed_[step.index]) {
        atom_at_[step.index] = next();
        write_atom(trace_.atoms_[step.index]);
      } else if (!step.is_atom && term_needed_[step.index]) {
        term_at_[step.index] = next();
        write_term(trace_.terms_[step.index]);
      }
    }
  }

 private:
  uint32_t next() const { return static_cast<uint32_t>(program_.steps_.size()); }

  void mark(const DimTrace::Step& step) {
    if (!step.is_atom) {
      if (!term_needed_[step.index]) return;
      for (const auto& [product, coefficient] : trace_.terms_[step.index])
        for (const auto a : product) atom_needed_[a] = true;
      return;
    }
    const DimTrace::Atom& atom = trace_.atoms_[step.index];
    if (!atom_needed_[step.index] || atom.kind == DimTrace::AtomKind::symbol) return;
    need(atom.a);
    need(atom.b);
  }

  void write_atom(const DimTrace::Atom& atom) {
    const bool symbol = atom.kind == DimTrace::AtomKind::symbol;
    program_.steps_.push_back({.kind = atom.kind,
                               .is_sum = false,
                               .a = symbol ? atom.a : term_at_[atom.a],
                               .b = symbol ? 0 : term_at_[atom.b]});
  }

  void write_term(const DimTrace::Polynomial& p) {
    const auto first = static_cast<uint32_t>(program_.shares_.size());
    for (const auto& [product, coefficient] : p) {
      const auto begin = static_cast<uint32_t>(program_.atoms_.size());
      for (const auto a : product) program_.atoms_.push_back(atom_at_[a]);
      program_.shares_.push_back({coefficient, begin, static_cast<uint32_t>(program_.atoms_.size())});
    }
    program_.steps_.push_back({.kind = DimTrace::AtomKind::symbol,
                               .is_sum = true,
                               .a = first,
                               .b = static_cast<uint32_t>(program_.shares_.size())});
  }

  const DimTrace& trace_;
  DimProgram& program_;
  std::vector<bool> term_needed_;
  std::vector<bool> atom_needed_;
  std::vector<uint32_t> term_at_;
  std::vector<uint32_t> atom_at_;
};

DimProgram::DimProgram(const DimTrace& trace, std::span<const Dim::Term> terms) {
  Writer writer(trace, *this);
  for (const Dim::Term t : terms) writer.need(t);
  for (const DimTrace::Condition& c : trace.conditions_) writer.need(c.term);
  writer.write();
  for (const Dim::Term t : terms) results_.push_back(writer.at(t));
  for (const DimTrace::Condition& c : trace.conditions_)
    tests_.push_back({writer.at(c.term), c.asked == DimTrace::Asked::negative, c.holds});
}

bool DimProgram::compute(const Step& step, std::span<const int64_t> symbols, std::span<const int64_t> values,
                         int64_t& out) const {
  if (step.is_sum) {
    out = 0;
    for (uint32_t s = step.a; s < step.b; ++s) {
      int64_t share = shares_[s].coefficient;
      for (uint32_t a = shares_[s].first; a < shares_[s].last; ++a)
        if (__builtin_mul_overflow(share, values[atoms_[a]], &share)) return false;
      if (__builtin_add_overflow(out, share, &out)) return false;
    }
    return true;
  }
  if (step.kind == DimTrace::AtomKind::symbol) {
    out = symbols[step.a];
    return true;
  }
  const int64_t a = values[step.a];
  const int64_t b = values[step.b];
  // The one quotient that does not fit has the least number above.
  if (b == 0 || a == std::numeric_limits<int64_t>::min()) return false;
  out = step.kind == DimTrace::AtomKind::quotient ? a / b : a % b;
  return true;
}

bool DimProgram::evaluate(std::span<const int64_t> symbols, std::vector<int64_t>& out) const {
  for (const int64_t s : symbols)
    if (s < DimTrace::kLeastSymbol) return false;
  std::vector<int64_t> values(steps_.size());
  for (size_t i = 0; i < steps_.size(); ++i)
    if (!compute(steps_[i], symbols, values, values[i])) return false;
  for (const Test& t : tests_)
    if ((t.negative ? values[t.value] < 0 : values[t.value] == 0) != t.holds) return false;
  out.clear();
  for (const uint32_t at : results_) out.push_back(values[at]);
  return true;
}

}  // namespace walle::tensor
