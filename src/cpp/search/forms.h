// Two forms of the same sub-graph: which of them the search expects to be faster, before a plan is made.
//
// A plan chooses among candidates of one node. Where a pass could make one node of several, both forms cannot
// stand in one program, so that choice falls here, by the same costs, measured ones where the session is
// tuned. Not synchronised: one per program.
#pragma once

#include <span>
#include <vector>

#include "search/search_options.h"
#include "search/tune.h"

namespace walle::search {

class Forms {
 public:
  // All outlive it.
  Forms(const ops::Program& program, const std::vector<const backends::Backend*>& backends,
        const SearchOptions& options)
      : program_(program),
        backends_(backends),
        options_(options),
        tuner_(program, options.threads, options.tune) {}

  // Whether `one` costs less than the nodes `several` it would stand for, each by its best candidate on the
  // cheapest backend; false where no backend runs `one`. Without a search (options.search) whatever can be
  // one is: the first candidates are references, whose costs say nothing.
  bool costs_less(const ops::ProgramNode& one, std::span<const ops::ProgramNode* const> several);

 private:
  double best_ms(const ops::ProgramNode& node);

  const ops::Program& program_;
  const std::vector<const backends::Backend*>& backends_;
  const SearchOptions& options_;
  Tuner tuner_;
};

}  // namespace walle::search
