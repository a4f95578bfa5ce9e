#include "runtime/merge.h"

#include <algorithm>

#include "ops/passes/distribute_product.h"
#include "ops/passes/fuse_attention.h"
#include "ops/passes/fuse_epilogue.h"
#include "ops/passes/fuse_gelu.h"
#include "ops/passes/lift_unary.h"
#include "ops/passes/merge_rasters.h"
#include "ops/passes/widen.h"
#include "runtime/claims.h"
#include "search/forms.h"

namespace walle::runtime {

namespace {
using Backends = std::vector<const backends::Backend*>;
using Nodes = ShapeQuestions::Nodes;

Status widen_what_none_supports(ops::Program& program, const Backends& backends, ShapeQuestions& questions) {
  const auto ask = [&backends](const ops::Program& p, Nodes nodes) {
    return some_supports(backends, p, *nodes[0]);
  };
  return ops::widen_floats(program, [&](const ops::Program& p, const ops::ProgramNode& node) {
    const ops::ProgramNode* asked = &node;
    return questions.answer(ShapeQuestions::Kind::support, p, {&asked, 1}, ask);
  });
}

// Where one node costs less than several do.
Status fuse_where_cheaper(ops::Program& program, const Backends& backends,
                          const search::SearchOptions& options, ShapeQuestions& questions) {
  const auto ask = [&backends, options](const ops::Program& p, Nodes nodes) {
    return search::Forms(p, backends, options).costs_less(*nodes[0], nodes.subspan(1));
  };
  search::Forms forms(program, backends, options);  // which keeps what it has measured
  return ops::fuse_attention(program, [&](const ops::ProgramNode& fused, Nodes instead) {
    if (!DimTrace::current()) return forms.costs_less(fused, instead);
    std::vector<const ops::ProgramNode*> nodes{&fused};
    nodes.insert(nodes.end(), instead.begin(), instead.end());
    return questions.answer(ShapeQuestions::Kind::cost, program, nodes, ask);
  });
}
}  // namespace

Status merge(ops::Program& program, const std::vector<const backends::Backend*>& backends,
             const SessionOptions& options, const search::SearchOptions& search, ShapeQuestions& questions) {
  // First, so that what nobody reads is neither widened nor anybody's second reader, which stops fusing.
  ops::remove_dead_nodes(program);
  // Before fusing, which knows float32 only.
  WALLE_TRY(widen_what_none_supports(program, backends, questions));
  // Before merging: what a function stood between may be one movement.
  if (options.debug.fuse) WALLE_TRY(ops::lift_unary(program));
  // Before fusing: a copy that merging removes would stand between a node and its epilogue.
  if (options.debug.merge) WALLE_TRY(ops::merge_rasters(program));
  // Before the epilogues, one of which a Gelu may become.
  if (options.debug.fuse) WALLE_TRY(ops::fuse_gelu(program));
  // Behind merging, which leaves one raster between a head and where it comes from; before the epilogues,
  // one of which a bias of all scores becomes.
  if (options.debug.fuse) WALLE_TRY(fuse_where_cheaper(program, backends, search, questions));
  // Behind merging, which shows what a product's rows are made of; before the epilogues, one of which the sum
  // of two products becomes.
  if (options.debug.fuse && options.accuracy != "strict") WALLE_TRY(ops::distribute_products(program));
  if (options.debug.fuse) WALLE_TRY(ops::fuse_epilogues(program));
  ops::remove_dead_nodes(program);
  return {};
}

}  // namespace walle::runtime
