// ShapeClass: how the plan of a segment follows the sizes of its inputs (docs/concepts/shape-classes.md).
//
// Made where a segment was compiled with symbols; then one plan serves every value of them for which the
// conditions of its making hold. Fitting it to new values computes some hundred sums, chooses and prepares
// what works on changed sizes anew, once for all alike steps, and leaves everything else as it is.
//
// Serves one executable on one thread. Invariant: while fitted_ is not empty, every size of the
// executable is the one for these symbols; a fit that fails leaves it empty.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "runtime/executable.h"
#include "runtime/shape_questions.h"
#include "runtime/shared_state.h"
#include "search/search_options.h"
#include "tensor/dim_program.h"

namespace walle::runtime {

class ShapeClass {
 public:
  // nullptr where the plan is for its own sizes alone: the trace is not complete, or its conditions say so.
  static std::unique_ptr<ShapeClass> of(const DimTrace& trace, const std::vector<Dim>& symbols,
                                        std::unique_ptr<ShapeQuestions> questions, bool views_move,
                                        Executable& executable);

  // Whether the executable is for these symbols now. False: the class does not hold for them. An error, of
  // memory, leaves it to the next call to fit again.
  Result<bool> fit(const std::vector<int64_t>& symbols, SharedState& shared);
  int64_t fits() const { return fits_; }  // so far

  size_t symbol_count() const { return symbols_.size(); }
  size_t symbol_of(Dim::Term term) const { return std::ranges::find(symbols_, term) - symbols_.begin(); }

 private:
  ShapeClass(Executable& executable, std::unique_ptr<ShapeQuestions> questions)
      : executable_(executable), questions_(std::move(questions)) {}
  Result<bool> fit_in_host_memory(const search::SearchOptions& options, SharedState& shared);
  Result<bool> fit_placement(const search::SearchOptions& options, SharedState& shared);
  void for_each_size(const std::function<void(Dim&)>& visit);
  void group_steps();
  void add_step(size_t step);
  bool sizes_allowed() const;
  bool holds_beside() const;

  Executable& executable_;
  std::vector<Dim::Term> symbols_;
  std::unique_ptr<ShapeQuestions> questions_;
  std::vector<int64_t> fitted_;
  tensor::DimProgram sizes_;
  std::vector<size_t> result_of_size_;         // in the order of for_each_size
  std::vector<ops::Ref> values_;               // of the program, with a symbol
  std::vector<ops::Ref> asked_;                // of them, one of each shape and width of elements
  std::vector<size_t> nodes_;                  // likewise
  std::vector<Executable::AlikeSteps> alike_;  // all steps that work on changed sizes
  std::vector<int64_t> results_;               // scratch of fit
  int64_t fits_ = 0;
  bool views_move_ = false;
  // Steps are chosen one by one as long as no choice in another memory costs less; else the plan is made
  // anew.
  bool in_host_memory_ = false;
};

}  // namespace walle::runtime
