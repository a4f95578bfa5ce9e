#include "ops/passes/merge_rasters.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "base/limits.h"
#include "ops/symbolic.h"
#include "raster/compose.h"
#include "raster/simplify.h"
#include "tensor/dim_trace.h"

namespace walle::ops {

namespace {

// A chain of copies is merged from its start, so one round is the rule and two occur (a source that was
// itself refused at first); eight end a loop that would be a bug.
constexpr int kMaxRounds = 8;
constexpr size_t kMaxCompared = 256;  // regions of a raster that is kept to find its equal

// As a view it would be the whole of its source.
bool starts_at_zero(const raster::Raster& r, const Shape& shape) {
  const auto start = raster::as_alias(r, shape.dim_elements());
  return start && *start == 0;
}

class Merger {
 public:
  Merger(Program& program, const MergeOptions& options)
      : program_(program),
        options_(options),
        producer_(program.values.size(), -1),
        replaced_(program.values.size()) {
    for (size_t i = 0; i < replaced_.size(); ++i) replaced_[i] = static_cast<Ref>(i);
    asked_for_.insert(program.outputs.begin(), program.outputs.end());
  }

  void run() {
    for (size_t i = 0; i < program_.nodes.size(); ++i) visit(i);
    for (Ref& r : program_.outputs) r = current(r);
    remove_dead_nodes(program_);
  }

 private:
  Ref current(Ref r) const { return r < 0 ? r : replaced_[r]; }

  void visit(size_t index) {
    ProgramNode& node = program_.nodes[index];
    for (Ref& r : node.inputs) r = current(r);
    if (node.raster) {
      if (options_.vertical) merge_vertically(node);
      if (options_.horizontal) simplify(*node.raster);
      tidy_sources(node);
    }
    if ((node.raster || node.loop) && node.outputs.size() == 1 && replace(index)) return;
    for (Ref r : node.outputs)
      if (r >= 0) producer_[r] = static_cast<int>(index);
  }

  // A plan of too many rasters of many regions keeps some as they are.
  void simplify(raster::Raster& r) {
    const int64_t cost = raster::simplify_steps(r);
    steps_ -= cost;
    if (cost == 0 || steps_ >= 0) raster::simplify(r);
  }

  // Producers come first and are merged already, so their
  // sources are seldom rasters; a few rounds reach the fixpoint.
  void merge_vertically(ProgramNode& node) {
    for (int round = 0; round < kMaxRounds; ++round) {
      bool changed = false;
      for (size_t s = 0; s < node.inputs.size(); ++s)
        changed = merge_source(node, static_cast<int>(s)) || changed;
      if (!changed) return;
      // Once for all sources: once for each made a split and concat of 1024 parts take 0.4 s.
      simplify(*node.raster);
      tidy_sources(node);
    }
  }

  bool merge_source(ProgramNode& node, int source) {
    const Ref through = node.inputs[source];
    const int from = producer_[through];
    if (from < 0) return false;
    const ProgramNode& inner = program_.nodes[from];
    if (!inner.raster) return false;
    const auto& regions = node.raster->regions;
    // Looking costs as well: thousands of sources of thousands of regions each would be quadratic.
    steps_ -= static_cast<int64_t>(regions.size());
    if (steps_ < 0) return false;
    if (std::ranges::none_of(regions, [&](const raster::Region& r) { return r.source == source; }))
      return false;
    if (better_read_whole(*node.raster, source, *inner.raster, through)) return false;
    const size_t limit = regions.size() + inner.raster->regions.size() + options_.max_regions;
    auto merged = raster::compose(*node.raster, source, *inner.raster, static_cast<int>(node.inputs.size()),
                                  limit, steps_);
    // Too many regions, or too many steps: the copy stays.
    if (!merged) return false;
    node.raster = std::move(*merged);
    // The old source stays until tidy_sources(), so that numbers of sources hold while others are merged.
    node.inputs.insert(node.inputs.end(), inner.inputs.begin(), inner.inputs.end());
    return true;
  }

  // A value put together from pieces that is a result anyway, or that is repeated: its pieces would have to
  // be read as often. Attention reads such keys in place, where a cache and what is new are one value, and
  // its heads are repeated for several query heads; it cannot read them from two.
  bool better_read_whole(const raster::Raster& outer, int source, const raster::Raster& inner,
                         Ref through) const {
    if (inner.regions.size() < 2) return false;
    return asked_for_.contains(through) || std::ranges::any_of(outer.regions, [&](const raster::Region& r) {
             for (int i = 0; r.source == source && i < r.rank; ++i)
               if (r.size[i] > 1 && r.src.stride[i] == 0) return true;
             return false;
           });
  }

  // Each source once, none unused.
  static void tidy_sources(ProgramNode& node) {
    std::vector<Ref> sources;
    std::unordered_map<Ref, int> number;
    for (raster::Region& r : node.raster->regions) {
      const Ref ref = node.inputs[r.source];
      const auto [at, fresh] = number.emplace(ref, static_cast<int>(sources.size()));
      r.source = at->second;
      if (fresh) sources.push_back(ref);
    }
    node.inputs = std::move(sources);
  }

  // True when the node's result is another value: its own source, or that of an equal node.
  bool replace(size_t index) {
    const ProgramNode& node = program_.nodes[index];
    const Ref out = node.outputs[0];
    const ProgramValue& value = program_.at(out);
    // As alias of offset 0 and of the same shape: a view with another shape stays a node, because values
    // carry shapes.
    if (options_.identity && node.raster && node.inputs.size() == 1) {
      const ProgramValue& source = program_.at(node.inputs[0]);
      if (source.shape == value.shape && starts_at_zero(*node.raster, value.shape)) {
        replaced_[out] = node.inputs[0];
        return true;
      }
    }
    // Equal rasters of many regions are too rare to be looked for.
    if (!options_.horizontal || (node.raster && node.raster->regions.size() > kMaxCompared)) return false;
    const std::string form = form_of(node, value);
    const auto [first, last] = seen_.equal_range(form);
    // A split into thousands of parts makes as many nodes of one form.
    for (auto known = first; known != last && --steps_ >= 0; ++known) {
      if (!same_sizes(program_.nodes[known->second], node)) continue;
      replaced_[out] = program_.nodes[known->second].outputs[0];
      return true;
    }
    seen_.emplace(form, index);
    return false;
  }

  // What an equal node has too. The sizes of a class of shapes are left out and compared one by one, so that
  // it is known which had to be equal.
  static std::string form_of(const ProgramNode& node, const ProgramValue& value) {
    std::string text(dtype_name(value.dtype));
    const auto add = [&](int64_t number) { text.append(" ").append(std::to_string(number)); };
    add(value.shape.rank());
    for (Ref r : node.inputs) add(r);
    if (!DimTrace::current()) {
      for (int a = 0; a < value.shape.rank(); ++a) add(value.shape.dim(a).value());
      for (const Dim d : sizes_of_movement(node)) add(d.value());
    }
    if (node.loop) {
      const raster::LoopSpec& loop = *node.loop;
      text.append(loop.index_on_dst ? " scatter" : " gather");
      for (const int number : {static_cast<int>(loop.combine), loop.rank, loop.body.rank, int{loop.base}})
        add(number);
      add(static_cast<int64_t>(loop.index.size()));
      return text;
    }
    text.append(node.raster->accumulate ? " sum" : " copy");
    for (const raster::Region& r : node.raster->regions) {
      add(r.source);
      add(r.rank);
    }
    if (node.raster->fill)
      for (std::byte b : node.raster->fill->bytes) add(std::to_integer<int>(b));
    return text;
  }

  bool same_sizes(const ProgramNode& a, const ProgramNode& b) const {
    return program_.at(a.outputs[0]).shape == program_.at(b.outputs[0]).shape &&
           std::ranges::equal(sizes_of_movement(a), sizes_of_movement(b),
                              [](Dim x, Dim y) { return x == y; });
  }

  Program& program_;
  const MergeOptions& options_;
  int64_t steps_ = base::kMaxMergeSteps;
  std::vector<int> producer_;
  std::unordered_set<Ref> asked_for_;        // results of the program, as they were
  std::vector<Ref> replaced_;                // results that turned out to be another value
  std::multimap<std::string, size_t> seen_;  // nodes by their form
};

}  // namespace

Status merge_rasters(Program& program, const MergeOptions& options) {
  Merger(program, options).run();
  return {};
}

int count_copies(const Program& program) {
  int n = 0;
  for (const ProgramNode& node : program.nodes) {
    if (node.loop) ++n;
    if (node.raster && !raster::as_alias(*node.raster, program.at(node.outputs[0]).shape.dim_elements())) ++n;
  }
  return n;
}

}  // namespace walle::ops
