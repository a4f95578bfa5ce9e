#include <algorithm>

#include "link/limits.h"
#include "link/trust/keys.h"
#include "link/trust/parse.h"

namespace walle::link {

namespace {
Result<Target> read_target(const Json& entry, const std::string& where) {
  Target out;
  Fields fields(entry, where);
  out.length = static_cast<uint64_t>(fields.integer("length", 0));
  WALLE_TRY(fields.status());
  WALLE_ASSIGN(out.hashes, read_hashes(fields));
  return out;
}

Status read_texts(Fields& fields, std::string_view key, std::vector<std::string>& out) {
  const Json::Array& entries = fields.array(key);
  WALLE_TRY(fields.status());
  for (const Json& entry : entries) {
    if (!entry.text()) return malformed("an entry of another type", "texts", fields.where());
    out.push_back(*entry.text());
  }
  return {};
}

Result<Delegation> read_delegation(const Json& entry, const std::string& where) {
  Delegation out;
  Fields fields(entry, where);
  out.name = fields.text("name");
  out.terminating = fields.boolean("terminating");
  WALLE_TRY(fields.status());
  // A delegated "timestamp" would lie where the top-level one does.
  if (out.name.empty() || std::ranges::find(kTopRoleNames, out.name) != kTopRoleNames.end())
    return malformed({"the delegated role ", in_quotes(out.name)}, "a name of its own", where);
  WALLE_ASSIGN(out.keys, read_role(fields));
  const bool by_path = fields.optional("paths");
  const bool by_hash = fields.optional("path_hash_prefixes");
  if (by_path == by_hash)
    return malformed(by_path ? "paths and path_hash_prefixes" : "neither paths nor path_hash_prefixes",
                     "one of them", {where, ", role ", in_quotes(out.name)});
  if (by_path)
    WALLE_TRY(read_texts(fields, "paths", out.paths));
  else
    WALLE_TRY(read_texts(fields, "path_hash_prefixes", out.path_hash_prefixes));
  return out;
}

Status read_delegations(const Crypto& crypto, const Json& entry, const std::string& where, Targets& out) {
  Fields fields(entry, where);
  const Json::Object& keys = fields.object("keys");
  if (fields.optional("succinct_roles")) fields.fail("succinct_roles", "\"roles\", each by its name");
  const Json::Array& roles = fields.array("roles");
  WALLE_TRY(fields.status());
  WALLE_ASSIGN(out.keys, read_keys(crypto, keys, where));
  if (roles.size() > kMostDelegatedRoles)
    return malformed({roles.size(), " delegated roles"}, {"at most ", kMostDelegatedRoles}, where);
  for (const Json& role : roles) {
    WALLE_ASSIGN(Delegation delegation, read_delegation(role, where));
    if (std::ranges::find(out.delegations, delegation.name, &Delegation::name) != out.delegations.end())
      return malformed({"the role ", in_quotes(delegation.name), " twice"}, "each role once", where);
    out.delegations.push_back(std::move(delegation));
  }
  return {};
}
}  // namespace

Result<Targets> parse_targets(const Crypto& crypto, const Document& document) {
  Targets out;
  out.version = document.version;
  out.expires = document.expires;
  Fields content(document.content, document.where);
  const Json::Object& targets = content.object("targets");
  WALLE_TRY(content.status());
  for (const Json::Member& entry : targets) {
    WALLE_ASSIGN(Target target,
                 read_target(entry.value, document.where + ", target " + in_quotes(entry.key)));
    out.targets.emplace(entry.key, std::move(target));
  }
  if (const Json* delegations = content.optional("delegations"))
    WALLE_TRY(read_delegations(crypto, *delegations, document.where + ", delegations", out));
  return out;
}

}  // namespace walle::link
