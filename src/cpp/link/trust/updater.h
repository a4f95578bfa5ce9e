// Updater: the TUF client of a device (specification 1.0.x, section 5): what of a repository is authentic
// now, and the bytes of its targets.
//
// refresh() follows the root's chain, then timestamp, snapshot and targets; each file that was believed is
// durable before the next one is asked for, so a process that dies continues and never goes back. After an
// error everything believed so far stays believed, and the next refresh() starts again. A clock that is wrong
// delays expiry or brings it early; what was seen in a higher version is refused in a lower one whatever the
// clock says.
//
// Not synchronised: one thread, one updater per folder.
#pragma once

#include <functional>
#include <memory>

#include "link/transport.h"
#include "link/trust/metadata_store.h"
#include "link/trust/trusted_set.h"

namespace walle::link {

struct UpdaterOptions {
  std::string folder;        // of the metadata
  std::string metadata_url;  // where 1.root.json is found, with or without a "/" at the end
  std::string target_url;
  // The first root, which came with the app: for a device that has none yet, or whose own was damaged. May be
  // empty where init() was called.
  std::string first_root;
};

struct FoundTarget {
  std::string path;
  Target target;
};

class Updater {
 public:
  // An error where there is no root that can be believed. Asks nothing of the network.
  static Result<std::unique_ptr<Updater>> open(Env& env, Transport& transport, UpdaterOptions options);
  // Puts a first root into `folder`; an error where it is not signed by its own keys.
  static Status init(Env& env, const std::string& folder, std::string_view root);

  Status refresh();

  // The target of this path from the role that has it, in order of preference; nullopt where none has.
  // Refreshes first if nobody has yet.
  Result<std::optional<FoundTarget>> find(const std::string& path);

  // Writes the target to `file`, whole and verified, or leaves what is there. At most the target's length is
  // read from the network.
  Status download(const FoundTarget& found, const std::string& file);
  // Whether `file` holds exactly the target.
  Result<bool> is_cached(const FoundTarget& found, const std::string& file) const;

  const TrustedSet& trusted() const { return *trusted_; }

 private:
  Updater(Env& env, Transport& transport, UpdaterOptions options, const Crypto& crypto, MetadataStore store)
      : env_(&env),
        transport_(&transport),
        options_(std::move(options)),
        crypto_(&crypto),
        store_(std::move(store)) {}

  // nullopt for a reply that there is no such file.
  Result<std::optional<std::string>> fetch_metadata(std::string_view role, int64_t version, uint64_t most);
  Result<std::string> need_metadata(std::string_view role, int64_t version, const FileMeta& meta,
                                    uint64_t most);
  Status start();
  Status refresh_root();
  Status refresh_timestamp();
  Status refresh_snapshot();
  Status load_targets(const std::string& role, const std::string& delegator);
  std::string target_url(const FoundTarget& found) const;

  Env* env_;
  Transport* transport_;
  UpdaterOptions options_;
  const Crypto* crypto_;
  MetadataStore store_;
  std::optional<TrustedSet> trusted_;
  bool refreshed_ = false;
};

}  // namespace walle::link
