#include "link/trust/updater.h"

#include <algorithm>

#include "link/limits.h"
#include "link/trust/fields.h"
#include "link/trust/path_match.h"

namespace walle::link {

namespace {
constexpr int64_t kUnversioned = 0;

// What servers and object stores answer for a file that is not there.
bool is_absent(int status) { return status == 403 || status == 404; }

std::string with_slash(std::string url) {
  if (!url.ends_with('/')) url += '/';
  return url;
}
}  // namespace

Status Updater::init(Env& env, const std::string& folder, std::string_view root) {
  WALLE_ASSIGN(const Crypto* const crypto, Crypto::system());
  WALLE_TRY(TrustedSet::start(*crypto, root, env.wall_us() / base::kUsPerSecond).status());
  WALLE_ASSIGN(MetadataStore store, MetadataStore::open(env, folder));
  return store.write(name_of(TopRole::root), root);
}

Result<std::unique_ptr<Updater>> Updater::open(Env& env, Transport& transport, UpdaterOptions options) {
  WALLE_ASSIGN(const Crypto* const crypto, Crypto::system());
  WALLE_ASSIGN(MetadataStore store, MetadataStore::open(env, options.folder));
  options.metadata_url = with_slash(std::move(options.metadata_url));
  options.target_url = with_slash(std::move(options.target_url));
  auto made =
      std::unique_ptr<Updater>(new Updater(env, transport, std::move(options), *crypto, std::move(store)));
  WALLE_TRY(made->start());
  return made;
}

Status Updater::start() {
  refreshed_ = false;
  const int64_t now = env_->wall_us() / base::kUsPerSecond;
  Status failed = argument_error("no root", "the root that came with the app", store_.path("root"),
                                 "give the first root, or run init once");
  const std::optional<std::string> kept = store_.read(name_of(TopRole::root), kMostRootBytes);
  for (const std::string& root : {kept.value_or(""), options_.first_root}) {
    if (root.empty()) continue;
    auto started = TrustedSet::start(*crypto_, root, now);
    if (started.ok()) {
      trusted_.emplace(std::move(*started));
      return {};
    }
    failed = started.take_error();
  }
  return failed;
}

Result<std::optional<std::string>> Updater::fetch_metadata(std::string_view role, int64_t version,
                                                           uint64_t most) {
  const std::string number = version == kUnversioned ? "" : std::to_string(version) + ".";
  const std::string url = options_.metadata_url + number + encode_name(role) + ".json";
  WALLE_ASSIGN(Fetched reply, fetch(*transport_, url, most));
  if (is_absent(reply.status)) return std::optional<std::string>();
  if (reply.status != kHttpOk)
    return network_error({"status ", reply.status}, "200", {"'", url, "'"},
                         "try again later, and look at the server's log");
  return std::optional(std::move(reply.body));
}

Result<std::string> Updater::need_metadata(std::string_view role, int64_t version, const FileMeta& meta,
                                           uint64_t most) {
  const int64_t asked = trusted_->root().consistent_snapshot ? version : kUnversioned;
  WALLE_ASSIGN(std::optional<std::string> bytes,
               fetch_metadata(role, asked, std::min(most, meta.length.value_or(most))));
  if (bytes) return std::move(*bytes);
  return network_error("no file", {"version ", version, " of role ", in_quotes(role)},
                       {"'", options_.metadata_url, "'"}, "look whether the server publishes whole releases");
}

Status Updater::refresh() {
  WALLE_TRY(start());
  WALLE_TRY(refresh_root());
  WALLE_TRY(refresh_timestamp());
  WALLE_TRY(refresh_snapshot());
  WALLE_TRY(load_targets(std::string(name_of(TopRole::targets)), std::string(name_of(TopRole::root))));
  refreshed_ = true;
  return {};
}

Status Updater::refresh_root() {
  for (int rotation = 0; rotation < kMostRootRotations; ++rotation) {
    WALLE_ASSIGN(const std::optional<std::string> bytes,
                 fetch_metadata(name_of(TopRole::root), trusted_->root().version + 1, kMostRootBytes));
    if (!bytes) break;
    WALLE_TRY(trusted_->update_root(*bytes));
    WALLE_TRY(store_.write(name_of(TopRole::root), *bytes));
  }
  return trusted_->finish_root();
}

Status Updater::refresh_timestamp() {
  constexpr std::string_view kRole = name_of(TopRole::timestamp);
  const std::optional<std::string> kept = store_.read(kRole, kMostTimestampBytes);
  // Kept under keys that count no more: gone, or the same key coming back later would bring it back.
  if (kept && !trusted_->recall_timestamp(*kept)) WALLE_TRY(store_.remove(kRole));
  WALLE_ASSIGN(const std::optional<std::string> bytes,
               fetch_metadata(kRole, kUnversioned, kMostTimestampBytes));
  if (!bytes)
    return network_error("no timestamp.json", "a repository", {"'", options_.metadata_url, "'"},
                         "check the address");
  WALLE_ASSIGN(const bool is_new, trusted_->update_timestamp(*bytes));
  if (!is_new) return trusted_->check_timestamp();
  return store_.write(kRole, *bytes);
}

Status Updater::refresh_snapshot() {
  constexpr std::string_view kRole = name_of(TopRole::snapshot);
  const std::optional<std::string> kept = store_.read(kRole, kMostSnapshotBytes);
  if (kept && !trusted_->recall_snapshot(*kept)) WALLE_TRY(store_.remove(kRole));
  if (trusted_->snapshot_is_current()) return {};
  const FileMeta meta = trusted_->timestamp()->snapshot;
  WALLE_ASSIGN(const std::string bytes, need_metadata(kRole, meta.version, meta, kMostSnapshotBytes));
  WALLE_TRY(trusted_->update_snapshot(bytes));
  return store_.write(kRole, bytes);
}

Status Updater::load_targets(const std::string& role, const std::string& delegator) {
  if (trusted_->targets(role)) return trusted_->check_delegator(role, delegator);
  WALLE_ASSIGN(const FileMeta meta, trusted_->listed(role));
  const std::optional<std::string> kept = store_.read(role, kMostTargetsBytes);
  if (kept && trusted_->update_targets(role, delegator, *kept).ok()) return {};
  WALLE_ASSIGN(const std::string bytes, need_metadata(role, meta.version, meta, kMostTargetsBytes));
  WALLE_TRY(trusted_->update_targets(role, delegator, bytes));
  return store_.write(role, bytes);
}

}  // namespace walle::link
