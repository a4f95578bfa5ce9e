// Any bytes as JSON and as each kind of signed metadata: what is read has one canonical form, which reads to
// itself where it is JSON, and nothing is believed that nobody signed.
#include <cstdlib>
#include <string>

#include "link/trust/parse.h"
#include "link/trust/path_match.h"
#include "link/trust/trusted_set.h"

namespace {
using namespace walle::link;

void require(bool holds) {
  if (!holds) __builtin_trap();
}

void read_metadata(const Crypto& crypto, const std::string& bytes) {
  for (const auto type : kTopRoleNames) {
    const auto document = parse_document(bytes, type, "fuzz");
    if (!document.ok()) continue;
    require(document->version >= 1);
    if (const auto root = parse_root(crypto, *document); root.ok())
      for (const auto& role : root->roles) require(role.threshold >= 1);
    if (const auto timestamp = parse_timestamp(*document); timestamp.ok())
      require(timestamp->snapshot.version >= 1);
    if (const auto snapshot = parse_snapshot(*document); snapshot.ok()) require(!snapshot->files.empty());
    const auto targets = parse_targets(crypto, *document);
    if (!targets.ok()) continue;
    for (const auto& delegation : targets->delegations) (void)covers(delegation, "a/b-1.tgz", "0123abcd");
  }
  // A root that is signed by nobody is no beginning; the seeds' signatures are not good.
  require(!TrustedSet::start(crypto, bytes, 0).ok());
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  if (const auto parsed = parse_json(bytes, "fuzz"); parsed.ok()) {
    const std::string canonical = parsed->canonical();
    require(canonical.size() <= size + 20);  // 1e3 and other forms that shrink are refused
    const auto again = parse_json(canonical, "fuzz");
    if (again.ok()) require(again->canonical() == canonical);
  }
  (void)parse_utc(bytes);
  std::string decoded;
  if (from_hex(bytes, decoded)) require(decoded.size() * 2 == size);
  (void)from_pem(bytes, decoded);
  const size_t half = size / 2;
  (void)matches_pattern(bytes.substr(0, half), bytes.substr(half));
  const auto crypto = Crypto::system();
  if (crypto.ok()) read_metadata(**crypto, bytes);
  return 0;
}
