// Paths of targets: which ones a delegation covers, and how names become parts of a URL or of a file's name.
#pragma once

#include "link/trust/metadata.h"

namespace walle::link {

// `*` stands for any characters but "/", `?` for one; everything else, "[" too, for itself.
bool matches_pattern(std::string_view path, std::string_view pattern);

// `path_digest`: the target path's SHA-256 in hexadecimal, for path_hash_prefixes.
bool covers(const Delegation& delegation, std::string_view path, std::string_view path_digest);

// Percent-encoding of everything but letters, digits and "-._~". A name so encoded is one file in one folder.
std::string encode_name(std::string_view name);
// The same for a path, whose "/" stay.
std::string encode_path(std::string_view path);

}  // namespace walle::link
