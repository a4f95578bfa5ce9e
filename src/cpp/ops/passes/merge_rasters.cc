#include "ops/passes/merge_rasters.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "base/limits.h"
#include "raster/compose.h"
#include "raster/simplify.h"

namespace walle::ops {

namespace {

// A chain of copies is merged from its start, so one round is the rule and two occur (a source that was
// itself refused at first); eight end a loop that would be a bug.
constexpr int kMaxRounds = 8;
constexpr size_t kMaxCompared = 256;  // regions of a raster whose text is kept to find its equal

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
    if ((node.raster || node.loop) && node.outputs.size() == 1 && replace(node)) return;
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
  bool replace(const ProgramNode& node) {
    const Ref out = node.outputs[0];
    const ProgramValue& value = program_.at(out);
    // As alias of offset 0 and of the same shape: a view with another shape stays a node, because values
    // carry shapes.
    if (options_.identity && node.raster && node.inputs.size() == 1) {
      const ProgramValue& source = program_.at(node.inputs[0]);
      if (source.shape == value.shape && raster::as_alias(*node.raster, value.shape.elements()) == 0) {
        replaced_[out] = node.inputs[0];
        return true;
      }
    }
    // Equal rasters of many regions are too rare to keep their texts.
    if (!options_.horizontal || (node.raster && node.raster->regions.size() > kMaxCompared)) return false;
    const auto [known, fresh] = seen_.emplace(key(node, value), out);
    if (fresh) return false;
    replaced_[out] = known->second;
    return true;
  }

  static std::string key(const ProgramNode& node, const ProgramValue& value) {
    std::string text(dtype_name(value.dtype));
    text += value.shape.text();
    for (Ref r : node.inputs) text += " %" + std::to_string(r);
    text += node.raster ? node.raster->text() : node.loop->text();
    if (node.raster && node.raster->fill)
      for (std::byte b : node.raster->fill->bytes) text += ' ' + std::to_string(std::to_integer<int>(b));
    return text;
  }

  Program& program_;
  const MergeOptions& options_;
  int64_t steps_ = base::kMaxMergeSteps;
  std::vector<int> producer_;
  std::unordered_set<Ref> asked_for_;  // results of the program, as they were
  std::vector<Ref> replaced_;          // results that turned out to be another value
  std::map<std::string, Ref> seen_;
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
    if (node.raster && !raster::as_alias(*node.raster, program.at(node.outputs[0]).shape.elements())) ++n;
  }
  return n;
}

}  // namespace walle::ops
