#include "search/plan_cache.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "base/bytes.h"

namespace walle::search {

namespace {
constexpr std::string_view kPlanMagic = "WALLEPLN";
constexpr uint16_t kPlanVersion = 1;
constexpr std::string_view kSuffix = ".plan";
// A node takes at least its three counts.
constexpr size_t kLeastNodeBytes = 4 + 8 + 4;
}  // namespace

std::string encode(uint64_t key, const Decisions& decisions) {
  base::ByteWriter out;
  out.put_bytes(kPlanMagic);
  out.put(kPlanVersion);
  out.put(key);
  out.put_count(decisions.size());
  for (const NodeDecision& d : decisions) {
    out.put(d.taken);
    out.put(d.choices);
    out.put_count(d.measured_ms.size());
    for (const double ms : d.measured_ms) out.put(ms);
  }
  out.put_checksum();
  return out.take();
}

std::optional<Decisions> decode(uint64_t key, std::string_view bytes) {
  base::ByteReader in(bytes);
  if (!in.expect(kPlanMagic) || in.get<uint16_t>() != kPlanVersion || in.get<uint64_t>() != key)
    return std::nullopt;
  Decisions out(in.count(kLeastNodeBytes));
  for (NodeDecision& d : out) {
    d.taken = in.get<uint32_t>();
    d.choices = in.get<uint64_t>();
    d.measured_ms.resize(in.count(sizeof(double)));
    for (double& ms : d.measured_ms) ms = in.checked(0.0, std::numeric_limits<double>::max());
    in.check(d.taken < d.measured_ms.size());
  }
  if (!in.checksum() || !in.done()) return std::nullopt;
  return out;
}

std::string PlanCache::path_of(uint64_t key) const {
  char name[17];
  std::snprintf(name, sizeof name, "%016llx", static_cast<unsigned long long>(key));
  return folder_ + "/" + name + std::string(kSuffix);
}

PlanCache::Answer PlanCache::find(uint64_t key) const {
  const std::string path = path_of(key);
  const int64_t size = env_.file_size(path);
  if (size < 0) return {};
  if (size > kMostPlanBytes) return {.found = Found::damaged, .decisions = {}};
  const Result<std::string> bytes = env_.read_file(path);
  if (!bytes.ok()) return {.found = Found::damaged, .decisions = {}};
  std::optional<Decisions> decisions = decode(key, *bytes);
  if (!decisions) return {.found = Found::damaged, .decisions = {}};
  return {.found = Found::whole, .decisions = std::move(*decisions)};
}

Status PlanCache::keep(uint64_t key, const Decisions& decisions) const {
  const std::string bytes = encode(key, decisions);
  // Never read again, so never written.
  if (std::ssize(bytes) > kMostPlanBytes) return {};
  WALLE_TRY(env_.make_dirs(folder_));
  const std::string path = path_of(key);
  WALLE_ASSIGN(std::vector<std::string> names, env_.list_files(folder_));
  std::erase_if(names, [](const std::string& name) { return !name.ends_with(kSuffix); });
  // From the new name on and round: hashes are spread evenly, so every old file is as likely to go.
  const std::string own = path.substr(folder_.size() + 1);
  const bool known = std::ranges::binary_search(names, own);
  for (size_t excess = names.size() + (known ? 0 : 1); excess > kMostPlans && !names.empty(); --excess) {
    auto next = std::ranges::upper_bound(names, own);
    if (next == names.end()) next = names.begin();
    (void)env_.remove_file(folder_ + "/" + *next);  // another process may have been quicker
    names.erase(next);
  }
  return env_.replace_file(path, bytes);
}

std::string cache_folder(const std::string& given) {
  constexpr std::string_view kOff = "off";
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  };
  const std::string named = given.empty() ? variable("WALLE_PLAN_CACHE") : given;
  if (named == kOff) return "";
  if (!named.empty()) return named;
  if (const std::string base = variable("XDG_CACHE_HOME"); base.starts_with('/')) return base + "/walle";
  const std::string home = variable("HOME");
  return home.starts_with('/') ? home + "/.cache/walle" : "";
}

}  // namespace walle::search
