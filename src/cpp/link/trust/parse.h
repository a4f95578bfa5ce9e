// Parsers of the files of a repository: strict, and before anybody asks whether they may be believed.
//
// What a file says beyond the specification is kept for the signature and otherwise left alone. What it says
// against it - no keys, a version of 0, two forms of delegation at once - is an error.
#pragma once

#include "link/trust/metadata.h"

namespace walle::link {

// `type` is what "_type" must say; `where` names the file in errors.
Result<Document> parse_document(std::string_view bytes, std::string_view type, const std::string& where);

Result<Root> parse_root(const Crypto& crypto, const Document& document);
Result<Timestamp> parse_timestamp(const Document& document);
Result<Snapshot> parse_snapshot(const Document& document);
Result<Targets> parse_targets(const Crypto& crypto, const Document& document);

// "2030-01-31T23:59:59Z" as seconds since 1970; nullopt for any other form.
std::optional<int64_t> parse_utc(std::string_view text);

}  // namespace walle::link
