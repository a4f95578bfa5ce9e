#include <algorithm>
#include <set>
#include <span>

#include "link/limits.h"
#include "link/trust/fields.h"
#include "link/trust/path_match.h"
#include "link/trust/updater.h"

namespace walle::link {

namespace {

struct Step {
  std::string role, delegator;
};

// The roles that `from` delegates the path to, the most preferred last.
void push_delegations(const Targets& from, const std::string& role, std::string_view path,
                      std::string_view path_digest, std::vector<Step>& waiting) {
  std::vector<Step> next;
  for (const Delegation& delegation : from.delegations) {
    if (!covers(delegation, path, path_digest)) continue;
    next.push_back({delegation.name, role});
    if (!delegation.terminating) continue;
    // What else waited is not asked any more.
    waiting.clear();
    break;
  }
  waiting.insert(waiting.end(), next.rbegin(), next.rend());
}

Error untrue(Text given, Text expected, const FoundTarget& found) {
  return network_error(given, expected, {"target ", in_quotes(found.path)},
                       "try again later; nothing of it was kept");
}

// Digests of bytes as they come.
class TargetCheck {
 public:
  static Result<TargetCheck> open(const Crypto& crypto, const FoundTarget& found) {
    TargetCheck out(found);
    const Hashes& hashes = found.target.hashes;
    if (hashes.empty()) return untrue("digests of unknown kinds alone", "sha256 or sha512", found);
    if (!hashes.sha256.empty()) out.sha256_ = crypto.digest(DigestKind::sha256);
    if (!hashes.sha512.empty()) out.sha512_ = crypto.digest(DigestKind::sha512);
    return out;
  }

  Status add(std::string_view piece) {
    if (piece.size() > found_->target.length - size_)
      return untrue("more bytes", found_->target.length, *found_);
    size_ += piece.size();
    if (sha256_) WALLE_TRY(sha256_->add(piece));
    return sha512_ ? sha512_->add(piece) : Status();
  }
  Status finish() {
    if (size_ != found_->target.length) return untrue({size_, " bytes"}, found_->target.length, *found_);
    WALLE_TRY(compare(sha256_.get(), found_->target.hashes.sha256));
    return compare(sha512_.get(), found_->target.hashes.sha512);
  }
  uint64_t size() const { return size_; }

 private:
  explicit TargetCheck(const FoundTarget& found) : found_(&found) {}

  Status compare(Digest* digest, const std::string& expected) const {
    if (!digest) return {};
    WALLE_ASSIGN(const std::string raw, digest->finish());
    return to_hex(raw) == expected ? Status() : untrue({"a digest of ", to_hex(raw)}, expected, *found_);
  }

  const FoundTarget* found_;
  uint64_t size_ = 0;
  std::unique_ptr<Digest> sha256_, sha512_;
};
}  // namespace

Result<std::optional<FoundTarget>> Updater::find(const std::string& path) {
  if (!refreshed_) WALLE_TRY(refresh());
  WALLE_ASSIGN(const std::string path_digest, digest_hex(*crypto_, DigestKind::sha256, path));
  std::vector<Step> waiting{{std::string(name_of(TopRole::targets)), std::string(name_of(TopRole::root))}};
  std::set<std::string> seen;
  while (!waiting.empty()) {
    const Step step = std::move(waiting.back());
    waiting.pop_back();
    if (!seen.insert(step.role).second) continue;
    if (seen.size() > 1 + kMostDelegations)
      return malformed({"more than ", kMostDelegations, " roles for one target"}, "fewer",
                       {"target ", in_quotes(path)});
    WALLE_TRY(load_targets(step.role, step.delegator));
    const Targets& targets = *trusted_->targets(step.role);
    if (const auto found = targets.targets.find(path); found != targets.targets.end())
      return std::optional(FoundTarget{path, found->second});
    push_delegations(targets, step.role, path, path_digest, waiting);
  }
  return std::optional<FoundTarget>();
}

std::string Updater::target_url(const FoundTarget& found) const {
  if (!trusted_->root().consistent_snapshot) return options_.target_url + encode_path(found.path);
  const Hashes& hashes = found.target.hashes;
  const size_t slash = found.path.rfind('/');
  const size_t name = slash == std::string::npos ? 0 : slash + 1;
  return options_.target_url + encode_path(found.path.substr(0, name)) +
         (hashes.sha256.empty() ? hashes.sha512 : hashes.sha256) + "." + encode_path(found.path.substr(name));
}

Status Updater::download(const FoundTarget& found, const std::string& file) {
  WALLE_ASSIGN(TargetCheck check, TargetCheck::open(*crypto_, found));
  const std::string url = target_url(found);
  return env_->replace_file(file, found.target.length, base::FileAccess::owner, [&](base::FileWriter& out) {
    const auto take = [&](std::string_view piece) -> Status {
      const uint64_t at = check.size();
      WALLE_TRY(check.add(piece));
      return out.write(at, std::as_bytes(std::span(piece)));
    };
    const Result<int> status = transport_->get({url}, take);
    if (!status.ok()) return status.status();
    if (*status != kHttpOk) return Status(untrue({"status ", *status}, "200", found));
    return check.finish();
  });
}

Result<bool> Updater::is_cached(const FoundTarget& found, const std::string& file) const {
  const int64_t size = env_->file_size(file);
  if (size < 0 || static_cast<uint64_t>(size) != found.target.length) return false;
  WALLE_ASSIGN(TargetCheck check, TargetCheck::open(*crypto_, found));
  WALLE_ASSIGN(const std::string bytes, env_->read_file(file));
  return check.add(bytes).ok() && check.finish().ok();
}

}  // namespace walle::link
