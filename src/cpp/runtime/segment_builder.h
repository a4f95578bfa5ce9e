// SegmentBuilder: what the stages "shapes" and "lower" write while compile() takes node after node - the
// program so far, which of its values stands for which value of the graph, and what the plan will depend on.
//
// Serves one compile() on one thread. Invariant: the program holds nodes [begin, end) and nothing of a later
// one, so that a segment may end after any node.
#pragma once

#include <memory>
#include <vector>

#include "ops/lower.h"
#include "runtime/segment.h"
#include "runtime/shared_state.h"

namespace walle::runtime {

class SegmentBuilder {
 public:
  // Sizes of live-ins that differ from those of `other` are symbols of the trace at hand.
  SegmentBuilder(const ir::Graph& graph, int begin, const Environment& env, const SharedState& shared,
                 ShapeQuestions& questions, const Segment* other);

  // The node to take next; nullptr where the segment has to end.
  const ir::Node* next() const;

  // The program's value for an operand, made when it is first asked for: a constant, a live-in, or what an
  // earlier node of the segment computes; kNoRef for an operand that is left out.
  Result<ops::Ref> operand(ir::ValueId id);

  // The run-time value of an operand, made a constant of this plan, which from then on depends on it. nullptr
  // when this segment is only about to compute it, and where its elements became sizes of a class, some of
  // them symbols: those are the program's value's.
  Result<const Tensor*> specialise(ir::ValueId id, ops::Ref r);

  // `results` are the program's values for the node's outputs; the segment now ends after this node.
  void add(const ir::Node& node, const std::vector<ops::Ref>& results);

  // The segment without its executable. `last_use` as for compile(): what is read behind the segment becomes
  // a result of the program.
  Result<std::unique_ptr<Segment>> finish(const std::vector<int>& last_use);

  ops::Lowering& lowering() { return lowering_; }
  ops::Program take_program() { return std::move(program_); }
  ShapeQuestions& questions() { return questions_; }
  const std::vector<Dim>& symbols() const { return symbols_; }

 private:
  Shape shape_of(ir::ValueId id, const Shape& shape);
  Dim symbol(Dim before, int64_t now);
  std::vector<Dim> sizes_of(ir::ValueId id, const Tensor& now);

  const ir::Graph& graph_;
  const Environment& env_;
  ops::Program program_;
  std::vector<ops::Ref> refs_;  // per value of the graph
  ops::Lowering lowering_;
  std::unique_ptr<Segment> segment_;
  ShapeQuestions& questions_;
  const Segment* other_;
  std::vector<Dim> symbols_;
  std::vector<Dim> were_;  // the sizes that became symbols, in the other segment
};

}  // namespace walle::runtime
