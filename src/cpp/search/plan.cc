#include "search/plan.h"

#include <algorithm>
#include <limits>

#include "base/limits.h"
#include "raster/canonical.h"
#include "search/memory_planner.h"
#include "search/placement.h"

namespace walle::search {

namespace {
// A raster that is one contiguous run of its source needs no step: its result shares the source's bytes.
// Results the caller keeps are copied, so that two outputs, or an output and an input, never share memory.
std::vector<Storage> find_aliases(const ops::Program& p, std::vector<bool>& skipped, int& aliases) {
  std::vector<Storage> storage(p.values.size());
  std::vector<bool> is_output(p.values.size(), false);
  for (ops::Ref r : p.inputs) storage[static_cast<size_t>(r)] = {Home::input, r, 0};
  for (size_t i = 0; i < p.values.size(); ++i)
    if (p.values[i].constant) storage[i] = {Home::constant, static_cast<ops::Ref>(i), 0};
  for (ops::Ref r : p.outputs) {
    is_output[static_cast<size_t>(r)] = true;
    if (Storage& s = storage[static_cast<size_t>(r)]; s.home == Home::nowhere) s = {Home::output, r, 0};
  }
  for (size_t i = 0; i < p.nodes.size(); ++i) {
    const ops::ProgramNode& n = p.nodes[i];
    if (!n.raster || n.inputs.size() != 1) {
      for (ops::Ref r : n.outputs)
        if (r >= 0 && storage[static_cast<size_t>(r)].home == Home::nowhere)
          storage[static_cast<size_t>(r)] = {Home::arena, r, 0};
      continue;
    }
    const ops::Ref out = n.outputs[0];
    const auto start = raster::as_alias(*n.raster, p.at(out).shape.elements());
    if (start && !is_output[static_cast<size_t>(out)]) {
      Storage s = storage[static_cast<size_t>(n.inputs[0])];
      s.offset += *start * dtype_size(p.at(out).dtype);
      storage[static_cast<size_t>(out)] = s;
      skipped[i] = true;
      ++aliases;
    } else if (storage[static_cast<size_t>(out)].home == Home::nowhere) {
      storage[static_cast<size_t>(out)] = {Home::arena, out, 0};
    }
  }
  return storage;
}

Status choose(const ops::Program& p, const std::vector<const backends::Backend*>& backends,
              const SearchOptions& options, const std::vector<bool>& skipped, Plan& plan) {
  std::vector<std::vector<Choice>> all;
  std::vector<std::vector<double>> costs;
  std::vector<double> bytes;
  for (size_t i = 0; i < p.nodes.size(); ++i) {
    if (skipped[i]) continue;
    WALLE_ASSIGN(std::vector<Choice> choices, choices_for(p, p.nodes[i], backends, options.threads));
    std::vector<double> row(backends.size(), std::numeric_limits<double>::infinity());
    for (const Choice& c : choices) {
      const auto b = static_cast<size_t>(std::ranges::find(backends, c.backend) - backends.begin());
      row[b] = std::min(row[b], c.candidate.cost_ms);
    }
    double in_bytes = 0;
    for (ops::Ref r : p.nodes[i].inputs)
      if (r >= 0 && !p.at(r).constant)
        in_bytes += static_cast<double>(p.at(r).shape.elements() * dtype_size(p.at(r).dtype));
    plan.steps.push_back({static_cast<int>(i), {}, {}, 0});
    all.push_back(std::move(choices));
    costs.push_back(std::move(row));
    bytes.push_back(in_bytes);
  }
  const std::vector<int> placed = options.search ? place(costs, bytes, backends) : std::vector<int>{};
  for (size_t s = 0; s < all.size(); ++s) {
    size_t best = 0;
    if (options.search) {
      double lowest = std::numeric_limits<double>::infinity();
      for (size_t c = 0; c < all[s].size(); ++c) {
        if (all[s][c].backend != backends[static_cast<size_t>(placed[s])] ||
            all[s][c].candidate.cost_ms >= lowest)
          continue;
        lowest = all[s][c].candidate.cost_ms;
        best = c;
      }
    }
    plan.steps[s].chosen = std::move(all[s][best]);
    plan.predicted_ms += plan.steps[s].chosen.candidate.cost_ms;
    all[s].erase(all[s].begin() + static_cast<std::ptrdiff_t>(best));
    plan.steps[s].losers = std::move(all[s]);
  }
  return {};
}

Status place_memory(const ops::Program& p, Plan& plan) {
  std::vector<int> block_of(p.values.size(), -1);
  std::vector<Block> blocks;
  const auto touch = [&](ops::Ref r, int step) {
    if (r < 0 || plan.storage[static_cast<size_t>(r)].home != Home::arena) return;
    const ops::Ref root = plan.storage[static_cast<size_t>(r)].root;
    int& block = block_of[static_cast<size_t>(root)];
    if (block < 0) {
      block = static_cast<int>(blocks.size());
      blocks.push_back({p.at(root).shape.elements() * dtype_size(p.at(root).dtype), step, step, 0});
      plan.activation_bytes += blocks.back().bytes;
    }
    blocks[static_cast<size_t>(block)].last = step;
  };
  std::vector<int> workspace(plan.steps.size(), -1);
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const ops::ProgramNode& n = p.nodes[static_cast<size_t>(plan.steps[s].node)];
    for (ops::Ref r : n.inputs) touch(r, static_cast<int>(s));
    for (ops::Ref r : n.outputs) touch(r, static_cast<int>(s));
    if (const int64_t bytes = plan.steps[s].chosen.candidate.workspace_bytes; bytes > 0) {
      workspace[s] = static_cast<int>(blocks.size());
      blocks.push_back({bytes, static_cast<int>(s), static_cast<int>(s), 0});
    }
  }
  plan.arena_bytes = plan_offsets(blocks);
  if (plan.arena_bytes > base::kMaxArenaBytes)
    return resource_error("a plan that needs " + std::to_string(plan.arena_bytes) + " bytes",
                          "at most " + std::to_string(base::kMaxArenaBytes), "memory plan",
                          "use smaller inputs or batches");
  for (size_t s = 0; s < plan.steps.size(); ++s)
    if (workspace[s] >= 0) plan.steps[s].workspace_offset = blocks[static_cast<size_t>(workspace[s])].offset;
  for (Storage& s : plan.storage)
    if (s.home == Home::arena && block_of[static_cast<size_t>(s.root)] >= 0)
      s.offset += blocks[static_cast<size_t>(block_of[static_cast<size_t>(s.root)])].offset;
  return {};
}
}  // namespace

Result<Plan> make_plan(const ops::Program& program, const std::vector<const backends::Backend*>& backends,
                       const SearchOptions& options) {
  Plan plan;
  std::vector<bool> skipped(program.nodes.size(), false);
  plan.storage = find_aliases(program, skipped, plan.aliases);
  WALLE_TRY(choose(program, backends, options, skipped, plan));
  WALLE_TRY(place_memory(program, plan));
  return plan;
}

}  // namespace walle::search
