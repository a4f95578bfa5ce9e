// Metadata: the files of a TUF repository as values (The Update Framework, specification 1.0.x, section 4).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "link/crypto.h"
#include "link/trust/json.h"

namespace walle::link {

struct Signature {
  std::string keyid;
  std::string bytes;  // empty where the text was none in hexadecimal: it counts for nothing
};

using Keys = std::map<std::string, PublicKey, std::less<>>;

// Who signs a role: at least `threshold` different ones of these keys.
struct RoleKeys {
  std::vector<std::string> keyids;
  int64_t threshold = 1;
};

// Lower-case hexadecimal. A kind that is unknown here is left out; one of the others must be there.
struct Hashes {
  std::string sha256, sha512;
  bool empty() const { return sha256.empty() && sha512.empty(); }
};

struct FileMeta {
  int64_t version = 0;
  std::optional<uint64_t> length;
  Hashes hashes;            // empty where nothing is said
  bool has_hashes = false;  // true with empty hashes: of kinds that are unknown here
};

// A file with its signatures, before its role's own fields.
struct Document {
  std::string where;  // the name for errors
  std::vector<Signature> signatures;
  std::string canonical;  // of what is signed
  Json content;           // the same
  int64_t version = 0;
  int64_t expires = 0;  // seconds since 1970; from then on the file is expired
};

enum class TopRole : uint8_t { root, timestamp, snapshot, targets };
inline constexpr std::array<std::string_view, 4> kTopRoleNames{"root", "timestamp", "snapshot", "targets"};
constexpr std::string_view name_of(TopRole role) { return kTopRoleNames[static_cast<size_t>(role)]; }

struct Root {
  int64_t version = 0, expires = 0;
  bool consistent_snapshot = false;
  Keys keys;
  std::array<RoleKeys, 4> roles;  // by TopRole
  const RoleKeys& role(TopRole which) const { return roles[static_cast<size_t>(which)]; }
};

struct Timestamp {
  int64_t version = 0, expires = 0;
  FileMeta snapshot;
};

struct Snapshot {
  int64_t version = 0, expires = 0;
  std::map<std::string, FileMeta, std::less<>> files;  // by role, without ".json"
};

struct Target {
  uint64_t length = 0;
  Hashes hashes;
};

struct Delegation {
  std::string name;
  RoleKeys keys;
  bool terminating = false;
  std::vector<std::string> paths, path_hash_prefixes;  // one of them is empty
};

struct Targets {
  int64_t version = 0, expires = 0;
  std::map<std::string, Target, std::less<>> targets;
  Keys keys;
  std::vector<Delegation> delegations;  // in order of preference
};

}  // namespace walle::link
