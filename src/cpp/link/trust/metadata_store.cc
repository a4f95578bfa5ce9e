#include "link/trust/metadata_store.h"

#include "link/limits.h"
#include "link/trust/fields.h"
#include "link/trust/path_match.h"

namespace walle::link {

Result<MetadataStore> MetadataStore::open(Env& env, std::string folder) {
  WALLE_TRY(env.make_dirs(folder));
  return MetadataStore(env, std::move(folder));
}

std::string MetadataStore::path(std::string_view role) const {
  return folder_ + "/" + encode_name(role) + ".json";
}

std::optional<std::string> MetadataStore::read(std::string_view role, uint64_t most) const {
  const int64_t size = env_->file_size(path(role));
  if (size < 0 || static_cast<uint64_t>(size) > most) return std::nullopt;
  auto bytes = env_->read_prefix(path(role), most);
  if (!bytes.ok()) return std::nullopt;
  return std::move(*bytes);
}

Status MetadataStore::write(std::string_view role, std::string_view bytes) {
  if (encode_name(role).size() > kMostRoleNameBytes)
    return malformed({"the role ", in_quotes(role)},
                     {"a name of at most ", kMostRoleNameBytes, " encoded bytes"}, "its file's name");
  return env_->replace_file(path(role), bytes);
}

Status MetadataStore::remove(std::string_view role) {
  return env_->file_size(path(role)) < 0 ? Status() : env_->remove_file(path(role));
}

}  // namespace walle::link
