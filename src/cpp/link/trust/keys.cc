#include "link/trust/keys.h"

#include <algorithm>

#include "link/limits.h"

namespace walle::link {

namespace {
constexpr size_t kEd25519Bytes = 32;

Scheme scheme_of(std::string_view type, std::string_view scheme) {
  // Older repositories name the curve in the type as well.
  const bool ecdsa = type == "ecdsa" || type == scheme;
  if (type == "ed25519" && scheme == "ed25519") return Scheme::ed25519;
  if (ecdsa && scheme == "ecdsa-sha2-nistp256") return Scheme::ecdsa_p256;
  if (ecdsa && scheme == "ecdsa-sha2-nistp384") return Scheme::ecdsa_p384;
  if (type == "rsa" && scheme == "rsassa-pss-sha256") return Scheme::rsa_pss_sha256;
  return Scheme::unknown;
}

// What cannot be read is a key that verifies nothing, not an error: others may carry the role.
PublicKey as_key(Scheme scheme, std::string_view text) {
  PublicKey key;
  const bool read = scheme == Scheme::ed25519 ? from_hex(text, key.bytes) && key.bytes.size() == kEd25519Bytes
                                              : from_pem(text, key.bytes);
  if (read) key.scheme = scheme;
  return key;
}

bool is_hex(std::string_view text, size_t digits) {
  return text.size() == digits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}
}  // namespace

Result<Keys> read_keys(const Crypto& crypto, const Json::Object& entries, const std::string& where) {
  Keys keys;
  for (const Json::Member& entry : entries) {
    Fields fields(entry.value, where + ", key " + in_quotes(entry.key));
    const Scheme scheme = scheme_of(fields.text("keytype"), fields.text("scheme"));
    (void)fields.object("keyval");
    WALLE_TRY(fields.status());
    Fields value(*fields.optional("keyval"), fields.where());
    const std::string& text = value.text("public");
    WALLE_TRY(value.status());
    WALLE_ASSIGN(const std::string id, digest_hex(crypto, DigestKind::sha256, entry.value.canonical()));
    if (id != entry.key)
      return malformed({"the id ", in_quotes(entry.key)}, {"the key's SHA-256, ", id}, where);
    keys.emplace(entry.key, as_key(scheme, text));
  }
  return keys;
}

Result<RoleKeys> read_role(Fields& role) {
  RoleKeys out;
  const Json::Array& ids = role.array("keyids");
  out.threshold = role.integer("threshold", 1);
  WALLE_TRY(role.status());
  for (const Json& id : ids) {
    if (!id.text()) return malformed("an id of another type", "keyids as texts", role.where());
    if (std::ranges::find(out.keyids, *id.text()) != out.keyids.end())
      return malformed({"the key ", in_quotes(*id.text()), " twice"}, "each key once", role.where());
    if (out.keyids.size() == kMostSignatures)
      return malformed({"more than ", kMostSignatures, " keys"}, "fewer", role.where());
    out.keyids.push_back(*id.text());
  }
  return out;
}

Result<Hashes> read_hashes(Fields& file) {
  Hashes out;
  const Json::Object& entries = file.object("hashes");
  WALLE_TRY(file.status());
  if (entries.empty()) return malformed("no digest", "at least one", file.where());
  for (const Json::Member& entry : entries) {
    const std::string* text = entry.value.text();
    if (!text) return malformed("a digest of another type", "a text", file.where());
    const bool sha256 = entry.key == "sha256";
    if (!sha256 && entry.key != "sha512") continue;
    if (!is_hex(*text, sha256 ? 64 : 128))
      return malformed({"the digest ", in_quotes(*text)}, "lower-case hexadecimal of its kind's size",
                       file.where());
    (sha256 ? out.sha256 : out.sha512) = *text;
  }
  return out;
}

}  // namespace walle::link
