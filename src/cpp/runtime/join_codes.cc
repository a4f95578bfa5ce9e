#include "runtime/join_codes.h"

#include "ops/passes/fold_known.h"
#include "ops/passes/fuse_codes.h"
#include "runtime/claims.h"
#include "runtime/fold.h"

namespace walle::runtime {

Status join_codes(ops::Program& program, const SharedState& shared, ShapeQuestions& questions) {
  if (!shared.options.debug.fuse) return {};
  const auto fold = [&shared](const ops::Program& one_node) {
    return shared.made->folded.get(one_node, fold_program);
  };
  const auto ask = [&shared](const ops::Program& p, ShapeQuestions::Nodes nodes) {
    return some_supports(shared.backends, p, *nodes[0]);
  };
  const auto runs = [&](const ops::Program& p, const ops::ProgramNode& node) {
    const ops::ProgramNode* asked = &node;
    return questions.answer(ShapeQuestions::Kind::support, p, {&asked, 1}, ask);
  };
  ops::remove_dead_nodes(program);
  WALLE_TRY(ops::fuse_codes(program, {.runs = runs, .fold = fold}));
  ops::remove_dead_nodes(program);
  return ops::fold_known(program, fold, fold_limit(shared.options));
}

}  // namespace walle::runtime
