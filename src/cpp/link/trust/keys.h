// Keys and the roles that name them, as root and delegations both write them. For metadata*.cc alone.
#pragma once

#include "link/trust/fields.h"
#include "link/trust/metadata.h"

namespace walle::link {

// Each key under the id that its content has: an id chosen freely could stand for another key in another
// file.
Result<Keys> read_keys(const Crypto& crypto, const Json::Object& entries, const std::string& where);

Result<RoleKeys> read_role(Fields& role);

Result<Hashes> read_hashes(Fields& file);

}  // namespace walle::link
