#include "search/recall.h"

#include "base/hash.h"
#include "search/fingerprint.h"

namespace walle::search {

namespace {
using Choices = std::vector<std::vector<Choice>>;

uint64_t hash_of(const std::vector<Choice>& choices) {
  base::Hasher hash;
  for (const Choice& c : choices) {
    const backends::Candidate& candidate = c.candidate;
    hash.text(c.backend->name()).text(candidate.algorithm);
    hash.value(candidate.choice).value(candidate.workspace_bytes).value(candidate.error);
    hash.value(static_cast<uint8_t>(candidate.arithmetic));
    for (const auto& [name, value] : candidate.parameters) hash.text(name).value(value);
  }
  return hash.finish();
}

bool fits(const Decisions& decisions, const Choices& choices) {
  if (decisions.size() != choices.size()) return false;
  for (size_t n = 0; n < choices.size(); ++n)
    if (decisions[n].measured_ms.size() != choices[n].size() || decisions[n].choices != hash_of(choices[n]))
      return false;
  return true;
}

std::vector<size_t> apply(const Decisions& decisions, Choices& choices) {
  std::vector<size_t> taken;
  for (size_t n = 0; n < choices.size(); ++n) {
    for (size_t c = 0; c < choices[n].size(); ++c) choices[n][c].measured_ms = decisions[n].measured_ms[c];
    taken.push_back(decisions[n].taken);
  }
  return taken;
}

Decisions decisions_of(const std::vector<size_t>& taken, const Choices& choices) {
  Decisions out;
  for (size_t n = 0; n < choices.size(); ++n) {
    NodeDecision& d = out.emplace_back();
    d.taken = static_cast<uint32_t>(taken[n]);
    d.choices = hash_of(choices[n]);
    for (const Choice& c : choices[n]) d.measured_ms.push_back(c.measured_ms);
  }
  return out;
}
}  // namespace

uint64_t plan_key(const ops::Program& program, const std::vector<const backends::Backend*>& backends,
                  const SearchOptions& options) {
  base::Hasher hash;
  hash.text(WALLE_VERSION_TEXT).value(fingerprint(program));
  for (const backends::Backend* b : backends) hash.text(b->name()).text(b->device()).text(b->target());
  const CostModel& costs = options.costs ? *options.costs : reference_costs();
  hash.value(costs.fingerprint()).value(options.threads).value(options.tune);
  hash.value(options.allowed.error).value(static_cast<uint8_t>(options.allowed.arithmetic));
  hash.value(static_cast<uint8_t>(options.search));
  return hash.finish();
}

Result<std::vector<size_t>> recalled(const ops::Program& program,
                                     const std::vector<const backends::Backend*>& backends,
                                     const SearchOptions& options,
                                     const std::function<Result<std::vector<size_t>>()>& search,
                                     std::vector<std::vector<Choice>>& choices, PlanSource& source) {
  // A random placement is for tests, which want what they asked for.
  if (options.random_placement) return search();
  const uint64_t key = plan_key(program, backends, options);
  const PlanCache::Answer answer = options.cache->find(key);
  if (answer.found == PlanCache::Found::whole && fits(answer.decisions, choices)) {
    source = PlanSource::cache;
    return apply(answer.decisions, choices);
  }
  WALLE_ASSIGN(std::vector<size_t> taken, search());
  const bool kept = options.cache->keep(key, decisions_of(taken, choices)).ok();
  source = !kept                                       ? PlanSource::not_kept
           : answer.found == PlanCache::Found::nothing ? PlanSource::kept
                                                       : PlanSource::mended;
  return taken;
}

}  // namespace walle::search
