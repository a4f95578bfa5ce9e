// ShapeQuestions: what backends and costs were asked about nodes while a plan for a class of shapes was made,
// so that the same can be asked again for other sizes: whether some backend runs a composite whole, whether
// one node costs less than several. An answer that differs ends the class.
//
// Serves one class on one thread. Questions about plain sizes are asked and forgotten; equal ones, as the
// layers of a network have them, are kept once.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "ops/program.h"

namespace walle::runtime {

class ShapeQuestions {
 public:
  using Nodes = std::span<const ops::ProgramNode* const>;
  // `program` has the operands of the nodes, and its sizes are plain numbers for whoever is asked.
  using Ask = std::function<bool(const ops::Program& program, Nodes nodes)>;
  enum class Kind : uint8_t { claim, support, cost };

  bool answer(Kind kind, const ops::Program& program, Nodes nodes, const Ask& ask);

  // Every size that is a symbol, to be read or written.
  void for_each_size(const std::function<void(Dim&)>& visit);
  // Whether all answers are what they were.
  bool hold() const;

 private:
  struct Question {
    Kind kind;
    ops::Program program;  // its nodes are those that were asked about
    Ask ask;
    bool answer = false;
  };
  std::vector<Question> questions_;
};

}  // namespace walle::runtime
