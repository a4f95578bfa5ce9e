#include "link/trust/parse.h"

#include "link/trust/keys.h"

namespace walle::link {

namespace {
constexpr std::string_view kSuffix = ".json";

Result<FileMeta> read_file(const Json& entry, const std::string& where) {
  FileMeta out;
  Fields fields(entry, where);
  out.version = fields.integer("version", 1);
  if (fields.optional("length")) out.length = static_cast<uint64_t>(fields.integer("length", 1));
  WALLE_TRY(fields.status());
  if (!fields.optional("hashes")) return out;
  WALLE_ASSIGN(out.hashes, read_hashes(fields));
  out.has_hashes = true;
  return out;
}
}  // namespace

Result<Root> parse_root(const Crypto& crypto, const Document& document) {
  Root out;
  out.version = document.version;
  out.expires = document.expires;
  Fields content(document.content, document.where);
  // Absent in the oldest repositories, which have none.
  if (content.optional("consistent_snapshot"))
    out.consistent_snapshot = content.boolean("consistent_snapshot");
  const Json::Object& keys = content.object("keys");
  (void)content.object("roles");
  WALLE_TRY(content.status());
  WALLE_ASSIGN(out.keys, read_keys(crypto, keys, document.where));
  Fields roles(*content.optional("roles"), document.where + ", roles");
  for (size_t i = 0; i < kTopRoleNames.size(); ++i) {
    (void)roles.object(kTopRoleNames[i]);
    WALLE_TRY(roles.status());
    Fields role(*roles.optional(kTopRoleNames[i]), document.where + ", role " + in_quotes(kTopRoleNames[i]));
    WALLE_ASSIGN(out.roles[i], read_role(role));
  }
  return out;
}

Result<Timestamp> parse_timestamp(const Document& document) {
  Timestamp out;
  out.version = document.version;
  out.expires = document.expires;
  Fields content(document.content, document.where);
  const Json::Object& meta = content.object("meta");
  WALLE_TRY(content.status());
  if (meta.size() != 1 || meta[0].key != "snapshot.json")
    return malformed({"\"meta\" of ", meta.size(), " files"}, "snapshot.json alone", document.where);
  WALLE_ASSIGN(out.snapshot, read_file(meta[0].value, document.where + ", snapshot.json"));
  return out;
}

Result<Snapshot> parse_snapshot(const Document& document) {
  Snapshot out;
  out.version = document.version;
  out.expires = document.expires;
  Fields content(document.content, document.where);
  const Json::Object& meta = content.object("meta");
  WALLE_TRY(content.status());
  for (const Json::Member& entry : meta) {
    if (!entry.key.ends_with(kSuffix))
      return malformed({"the file ", in_quotes(entry.key)}, "names that end in .json", document.where);
    const std::string role = entry.key.substr(0, entry.key.size() - kSuffix.size());
    WALLE_ASSIGN(FileMeta file, read_file(entry.value, document.where + ", " + in_quotes(entry.key)));
    out.files.emplace(role, std::move(file));
  }
  if (!out.files.contains(name_of(TopRole::targets)))
    return malformed("no targets.json", "its version at least", document.where);
  return out;
}

}  // namespace walle::link
