// TrustedSet: what a device believes of a repository: the steps of TUF's client workflow (section 5) as a
// chain that only grows - root, timestamp, snapshot, targets, delegated roles - without files or network.
//
// Invariants: every file kept was signed by those whom the file before it names. A version never falls behind
// one that was kept under the same keys, whatever the server sends. Nothing expired is used: expired files
// kept from earlier runs serve for that comparison alone. Each update either takes the whole file or changes
// nothing.
//
// Times are seconds since 1970; `now` is one moment for all steps of a refresh. Not synchronised.
#pragma once

#include <optional>

#include "link/trust/metadata.h"

namespace walle::link {

class TrustedSet {
 public:
  // `root` must be signed by its own keys; who brings it vouches for it (it came with the app, or from this
  // device's store).
  static Result<TrustedSet> start(const Crypto& crypto, std::string_view root, int64_t now);

  const Root& root() const { return root_; }
  const std::optional<Timestamp>& timestamp() const { return timestamp_; }
  const std::optional<Snapshot>& snapshot() const { return snapshot_; }
  const Targets* targets(std::string_view role) const;

  // The version behind the present one, signed by the present keys and by its own. It may be expired, as only
  // the last one must not be: finish_root() says so.
  Status update_root(std::string_view bytes);
  Status finish_root() const;

  // What an earlier run kept. False where the present root does not vouch for it any more: keys were rotated,
  // and nothing is compared with it then.
  bool recall_timestamp(std::string_view bytes);
  bool recall_snapshot(std::string_view bytes);

  // False when it is of the same version as the one at hand, which stays.
  Result<bool> update_timestamp(std::string_view bytes);
  Status check_timestamp() const;

  // Whether the snapshot recalled is the one that the timestamp names, so that none is fetched.
  bool snapshot_is_current() const;
  Status update_snapshot(std::string_view bytes);

  // What the snapshot says of a role; an error where it does not list it.
  Result<FileMeta> listed(std::string_view role) const;
  // `delegator` is a role that was taken already ("root" for the top-level targets).
  Status update_targets(const std::string& role, const std::string& delegator, std::string_view bytes);
  // A role that was taken for one delegator, for another one: its keys may be others.
  Status check_delegator(const std::string& role, const std::string& delegator) const;

 private:
  struct Role {
    Targets targets;
    Document document;
  };
  TrustedSet(const Crypto& crypto, int64_t now) : crypto_(&crypto), now_(now) {}
  Status check_top(const Document& document, TopRole role) const;
  Status check_delegated(const Document& document, const std::string& role,
                         const std::string& delegator) const;
  Status check_no_rollback(const Snapshot& next) const;

  const Crypto* crypto_;
  int64_t now_;
  Root root_;
  std::optional<Timestamp> timestamp_;
  std::optional<Snapshot> snapshot_;  // older than the timestamp's while it was only recalled
  std::string snapshot_bytes_;
  std::map<std::string, Role, std::less<>> roles_;
};

}  // namespace walle::link
