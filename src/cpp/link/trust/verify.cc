#include "link/trust/verify.h"

#include <algorithm>

#include "link/trust/fields.h"

namespace walle::link {

namespace {
Status check_digest(const Crypto& crypto, DigestKind kind, std::string_view bytes,
                    const std::string& expected, const std::string& where) {
  if (expected.empty()) return {};
  WALLE_ASSIGN(const std::string given, digest_hex(crypto, kind, bytes));
  if (given == expected) return {};
  return malformed({"a digest of ", given}, expected, where);
}
}  // namespace

Status check_signatures(const Crypto& crypto, const Document& document, const Keys& keys,
                        const RoleKeys& role) {
  int64_t good = 0;
  int64_t foreign = 0;  // by keys that nothing on this machine can use
  for (const Signature& signature : document.signatures) {
    if (std::ranges::find(role.keyids, signature.keyid) == role.keyids.end()) continue;
    const auto key = keys.find(signature.keyid);
    if (key == keys.end()) continue;
    if (crypto.verify(key->second, document.canonical, signature.bytes) && ++good == role.threshold)
      return {};
    foreign += key->second.scheme != Scheme::unknown && !crypto.can_verify(key->second.scheme);
  }
  if (foreign)
    return network_error({good, " good signatures and ", foreign, " by RSA or ECDSA keys"},
                         {"at least ", role.threshold, " that this machine can verify"}, document.where,
                         "install OpenSSL (Debian: libssl3), or sign with Ed25519 keys");
  return malformed({good, " good signatures of ", document.signatures.size()},
                   {"at least ", role.threshold, " of the role's ", role.keyids.size(), " keys"},
                   document.where);
}

Status check_file(const Crypto& crypto, std::string_view bytes, const FileMeta& meta,
                  const std::string& where) {
  if (meta.length && bytes.size() != *meta.length)
    return malformed({bytes.size(), " bytes"}, *meta.length, where);
  if (!meta.has_hashes) return {};
  if (meta.hashes.empty()) return malformed("digests of unknown kinds alone", "sha256 or sha512", where);
  WALLE_TRY(check_digest(crypto, DigestKind::sha256, bytes, meta.hashes.sha256, where));
  return check_digest(crypto, DigestKind::sha512, bytes, meta.hashes.sha512, where);
}

Status check_expiry(std::string_view role, int64_t expires, int64_t now) {
  if (now < expires) return {};
  return network_error({"metadata that expired ", now - expires, " s ago"}, "metadata that is valid now",
                       {"role ", in_quotes(role)},
                       "check this device's clock; if it is right, the server has to sign anew");
}

}  // namespace walle::link
