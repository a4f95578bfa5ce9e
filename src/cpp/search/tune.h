// Measured search: the most promising choices of a node are run on memory of their own, and the fastest wins.
//
// A network repeats its layers, so what was measured once serves every node that asks for the same. Not
// synchronised: one per search.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "search/plan.h"

namespace walle::search {

// A choice that the model takes for so much slower than the best is not worth a run.
inline constexpr double kHopeless = 8;
// As `most`: measure everything, nodes with a single choice included; what fitting a table wants.
inline constexpr int kTuneAll = 64;
// Not even then: references of large convolutions, which nobody will choose.
inline constexpr double kLongestMs = 60;

class Tuner {
 public:
  // `program` outlives it.
  Tuner(const ops::Program& program, int threads, int most)
      : program_(program), threads_(threads), most_(most) {}

  // Fills in measured_ms of the `most` choices that are predicted to be fastest, of nodes that have several.
  // A kernel that fails on made-up operands keeps its prediction.
  Status measure(const ops::ProgramNode& node, std::vector<Choice>& choices);

 private:
  const ops::Program& program_;
  int threads_;
  int most_;
  std::map<std::string, std::vector<double>> known_;  // measured_ms by what a node asks for
};

// Milliseconds of one run: the least of several, operands in the second-level cache and weights outside it,
// as a network leaves them.
Result<double> measured_ms(const ops::Program& program, const ops::ProgramNode& node, const Choice& choice,
                           int threads);

}  // namespace walle::search
