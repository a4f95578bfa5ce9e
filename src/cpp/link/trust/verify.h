// Verification: whether enough of a role's keys signed a file, and whether a file is the one another file
// names.
#pragma once

#include "link/trust/metadata.h"

namespace walle::link {

// An error unless `role.threshold` different keys of `role` signed the document. Bad signatures beside good
// ones are no error: key holders sign one after the other. Two ids are two keys, as an id is its key's
// digest.
Status check_signatures(const Crypto& crypto, const Document& document, const Keys& keys,
                        const RoleKeys& role);

// An error where length or digest differ from what is said; a file of which nothing is said passes.
Status check_file(const Crypto& crypto, std::string_view bytes, const FileMeta& meta,
                  const std::string& where);

// An error from the second `expires` on.
Status check_expiry(std::string_view role, int64_t expires, int64_t now);

}  // namespace walle::link
