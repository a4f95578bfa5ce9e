#include "link/trust/trusted_set.h"

#include <algorithm>

#include "link/trust/fields.h"
#include "link/trust/parse.h"
#include "link/trust/verify.h"

namespace walle::link {

namespace {
Error rollback(Text what, int64_t given, int64_t kept, Text where) {
  return malformed({what, " version ", given}, {"at least ", kept, ", which this device has seen"}, where);
}

Error wrong_version(int64_t given, int64_t expected, Text where) {
  return malformed({"version ", given}, {"version ", expected}, where);
}

std::string file_of(std::string_view role) { return std::string(role) + ".json"; }
}  // namespace

Result<TrustedSet> TrustedSet::start(const Crypto& crypto, std::string_view root, int64_t now) {
  TrustedSet out(crypto, now);
  WALLE_ASSIGN(const Document document, parse_document(root, name_of(TopRole::root), "trusted root.json"));
  WALLE_ASSIGN(out.root_, parse_root(crypto, document));
  WALLE_TRY(out.check_top(document, TopRole::root));
  return out;
}

const Targets* TrustedSet::targets(std::string_view role) const {
  const auto found = roles_.find(role);
  return found == roles_.end() ? nullptr : &found->second.targets;
}

Status TrustedSet::check_top(const Document& document, TopRole role) const {
  return check_signatures(*crypto_, document, root_.keys, root_.role(role));
}

Status TrustedSet::update_root(std::string_view bytes) {
  const std::string where = std::to_string(root_.version + 1) + ".root.json";
  WALLE_ASSIGN(const Document document, parse_document(bytes, name_of(TopRole::root), where));
  WALLE_TRY(check_top(document, TopRole::root));
  if (document.version != root_.version + 1) return wrong_version(document.version, root_.version + 1, where);
  WALLE_ASSIGN(Root next, parse_root(*crypto_, document));
  WALLE_TRY(check_signatures(*crypto_, document, next.keys, next.role(TopRole::root)));
  root_ = std::move(next);
  return {};
}

Status TrustedSet::finish_root() const { return check_expiry("root", root_.expires, now_); }

bool TrustedSet::recall_timestamp(std::string_view bytes) {
  const auto document = parse_document(bytes, name_of(TopRole::timestamp), "kept timestamp.json");
  if (!document.ok() || !check_top(*document, TopRole::timestamp).ok()) return false;
  auto timestamp = parse_timestamp(*document);
  if (!timestamp.ok()) return false;
  timestamp_ = std::move(*timestamp);
  return true;
}

bool TrustedSet::recall_snapshot(std::string_view bytes) {
  const auto document = parse_document(bytes, name_of(TopRole::snapshot), "kept snapshot.json");
  if (!document.ok() || !check_top(*document, TopRole::snapshot).ok()) return false;
  auto snapshot = parse_snapshot(*document);
  if (!snapshot.ok()) return false;
  snapshot_ = std::move(*snapshot);
  snapshot_bytes_ = bytes;
  return true;
}

Result<bool> TrustedSet::update_timestamp(std::string_view bytes) {
  const std::string where = file_of(name_of(TopRole::timestamp));
  WALLE_ASSIGN(const Document document, parse_document(bytes, name_of(TopRole::timestamp), where));
  WALLE_TRY(check_top(document, TopRole::timestamp));
  WALLE_ASSIGN(Timestamp next, parse_timestamp(document));
  if (timestamp_) {
    if (next.version == timestamp_->version) return false;
    if (next.version < timestamp_->version)
      return rollback("timestamp", next.version, timestamp_->version, where);
    if (next.snapshot.version < timestamp_->snapshot.version)
      return rollback("snapshot", next.snapshot.version, timestamp_->snapshot.version, where);
  }
  WALLE_TRY(check_expiry("timestamp", next.expires, now_));
  timestamp_ = std::move(next);
  return true;
}

Status TrustedSet::check_timestamp() const {
  if (!timestamp_) return internal_error("a snapshot before its timestamp", "link/trust");
  return check_expiry("timestamp", timestamp_->expires, now_);
}

bool TrustedSet::snapshot_is_current() const {
  return snapshot_ && timestamp_ && snapshot_->version == timestamp_->snapshot.version &&
         check_expiry("snapshot", snapshot_->expires, now_).ok() &&
         check_file(*crypto_, snapshot_bytes_, timestamp_->snapshot, "kept snapshot.json").ok();
}

Status TrustedSet::check_no_rollback(const Snapshot& next) const {
  if (!snapshot_) return {};
  for (const auto& [role, kept] : snapshot_->files) {
    const auto found = next.files.find(role);
    if (found == next.files.end())
      return malformed({"no ", in_quotes(file_of(role))}, "every role that was listed before",
                       "snapshot.json");
    if (found->second.version < kept.version)
      return rollback(in_quotes(role), found->second.version, kept.version, "snapshot.json");
  }
  return {};
}

Status TrustedSet::update_snapshot(std::string_view bytes) {
  WALLE_TRY(check_timestamp());
  const std::string where = file_of(name_of(TopRole::snapshot));
  WALLE_TRY(check_file(*crypto_, bytes, timestamp_->snapshot, where));
  WALLE_ASSIGN(const Document document, parse_document(bytes, name_of(TopRole::snapshot), where));
  WALLE_TRY(check_top(document, TopRole::snapshot));
  if (document.version != timestamp_->snapshot.version)
    return wrong_version(document.version, timestamp_->snapshot.version, where);
  WALLE_ASSIGN(Snapshot next, parse_snapshot(document));
  WALLE_TRY(check_no_rollback(next));
  WALLE_TRY(check_expiry("snapshot", next.expires, now_));
  snapshot_ = std::move(next);
  snapshot_bytes_ = bytes;
  return {};
}

Result<FileMeta> TrustedSet::listed(std::string_view role) const {
  if (!snapshot_ || !timestamp_ || snapshot_->version != timestamp_->snapshot.version)
    return internal_error("targets before their snapshot", "link/trust");
  const auto found = snapshot_->files.find(role);
  if (found != snapshot_->files.end()) return found->second;
  return malformed({"no ", in_quotes(file_of(role))}, "every delegated role", "snapshot.json");
}

Status TrustedSet::check_delegated(const Document& document, const std::string& role,
                                   const std::string& delegator) const {
  if (delegator == name_of(TopRole::root)) return check_top(document, TopRole::targets);
  const Targets* from = targets(delegator);
  if (!from)
    return internal_error({"role ", in_quotes(role), " before ", in_quotes(delegator)}, "link/trust");
  const auto found = std::ranges::find(from->delegations, role, &Delegation::name);
  if (found == from->delegations.end())
    return malformed({"role ", in_quotes(role)}, {"a role that ", in_quotes(delegator), " delegates to"},
                     document.where);
  return check_signatures(*crypto_, document, from->keys, found->keys);
}

Status TrustedSet::update_targets(const std::string& role, const std::string& delegator,
                                  std::string_view bytes) {
  const std::string where = file_of(role);
  WALLE_ASSIGN(const FileMeta meta, listed(role));
  WALLE_TRY(check_file(*crypto_, bytes, meta, where));
  WALLE_ASSIGN(Document document, parse_document(bytes, name_of(TopRole::targets), where));
  WALLE_TRY(check_delegated(document, role, delegator));
  if (document.version != meta.version) return wrong_version(document.version, meta.version, where);
  WALLE_ASSIGN(Targets next, parse_targets(*crypto_, document));
  WALLE_TRY(check_expiry(role, next.expires, now_));
  roles_.insert_or_assign(role, Role{std::move(next), std::move(document)});
  return {};
}

Status TrustedSet::check_delegator(const std::string& role, const std::string& delegator) const {
  const auto found = roles_.find(role);
  if (found == roles_.end())
    return internal_error({"role ", in_quotes(role), " before it is read"}, "link/trust");
  return check_delegated(found->second.document, role, delegator);
}

}  // namespace walle::link
