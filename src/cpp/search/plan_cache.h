// Decisions of searches on disk (docs/reference/formats/plan-cache.md): which of its choices every node
// takes, and what was measured for it.
//
// A file holds no plan. The choices are asked of the backends anew, a file that does not fit them choice by
// choice is not used, and copies and arenas are computed as ever: a damaged, stale or foreign file can cost a
// search, never a wrong result.
//
// Thread-safe, and safe between processes: files are replaced whole. The folder is bounded (kMostPlans).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/env.h"

namespace walle::search {

// About 1 KB each, so the folder stays below a megabyte. Which file makes room is left to the names, which
// are hashes: as good as chance, and needs no times of access, which phones do not keep.
inline constexpr size_t kMostPlans = 512;
inline constexpr int64_t kMostPlanBytes = int64_t{1} << 20;  // of one file; a larger one is not read

struct NodeDecision {
  uint32_t taken = 0;               // index into the node's choices
  uint64_t choices = 0;             // hash of all of them
  std::vector<double> measured_ms;  // per choice; 0: not measured
  bool operator==(const NodeDecision&) const = default;
};
using Decisions = std::vector<NodeDecision>;

class PlanCache {
 public:
  // Nothing is touched before the first find() or keep().
  PlanCache(base::Env& env, std::string folder) : env_(env), folder_(std::move(folder)) {}

  enum class Found : uint8_t { nothing, whole, damaged };
  struct Answer {
    Found found = Found::nothing;
    Decisions decisions;  // of Found::whole
  };
  Answer find(uint64_t key) const;
  // A folder that cannot be written is an error that searches ignore.
  Status keep(uint64_t key, const Decisions& decisions) const;

  const std::string& folder() const { return folder_; }
  std::string path_of(uint64_t key) const;

 private:
  base::Env& env_;
  std::string folder_;
};

std::string encode(uint64_t key, const Decisions& decisions);
std::optional<Decisions> decode(uint64_t key, std::string_view bytes);

// Where caches of this user lie unless somebody says otherwise: $XDG_CACHE_HOME/walle, else ~/.cache/walle;
// empty where there is neither. `given` is the session's option, which beats the environment variable
// WALLE_PLAN_CACHE; "off", there or here, is no folder.
std::string cache_folder(const std::string& given);

}  // namespace walle::search
