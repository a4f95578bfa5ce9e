// DimProgram: the sizes of a class of shapes as functions of its symbols, and the conditions under which they
// hold: what is left of a DimTrace once the plan is made.
//
// Immutable, so any thread may read it. One list of sums, of products of symbols and of earlier divisions;
// some hundred of them take 2 us.
#pragma once

#include <span>
#include <vector>

#include "tensor/dim_trace.h"

namespace walle::tensor {

class DimProgram {
 public:
  DimProgram() = default;
  // With what the conditions and these terms need.
  DimProgram(const DimTrace& trace, std::span<const Dim::Term> terms);

  // The values of the terms, in the order in which they were given; false where the plan is not for these
  // symbols: a condition does not hold, or a number overflows.
  bool evaluate(std::span<const int64_t> symbols, std::vector<int64_t>& out) const;

 private:
  struct Share {
    int64_t coefficient;
    uint32_t first;  // atoms, as indices into values
    uint32_t last;
  };
  struct Step {
    DimTrace::AtomKind kind;
    bool is_sum;
    uint32_t a;  // a sum's: shares from here; a division's: values; a symbol's: its number
    uint32_t b;  // a sum's: to here
  };
  struct Test {
    uint32_t value;
    bool negative;  // else: zero
    bool holds;
  };
  class Writer;

  bool compute(const Step& step, std::span<const int64_t> symbols, std::span<const int64_t> values,
               int64_t& out) const;

  std::vector<Step> steps_;
  std::vector<Share> shares_;
  std::vector<uint32_t> atoms_;
  std::vector<Test> tests_;
  std::vector<uint32_t> results_;
};

}  // namespace walle::tensor
