#include "store/sealed_env.h"

#include <optional>

#include "base/bytes.h"
#include "store/mirrored_file.h"

namespace walle::store {

namespace {
using base::Cipher;

// Files, by their cipher.
std::string_view seal_magic(const base::Aead& aead) {
  return aead.cipher() == Cipher::aes_256_gcm ? "WALSEAL1" : "WALSEAL2";
}
constexpr const char* kKeyFile = "/key.walk";
constexpr const char* kKeyKind = "KEYC";
constexpr std::string_view kKnown = "walle_rt log key";  // what the note holds, sealed

// A note names its cipher before what it holds, but for the first one's, which there was before the others.
// Nothing: one of a later version.
std::optional<Cipher> cipher_of(std::string_view note) {
  if (note.size() == kKnown.size() + seal_bytes(Cipher::aes_256_gcm)) return Cipher::aes_256_gcm;
  const Cipher newest = Cipher::xchacha20_poly1305;
  if (note.size() == 1 + kKnown.size() + seal_bytes(newest) && note[0] == static_cast<char>(newest))
    return newest;
  return std::nullopt;
}

std::string_view sealed_part(std::string_view note, Cipher cipher) {
  return note.substr(cipher == Cipher::aes_256_gcm ? 0 : 1);
}

bool mapped(const std::string& path) { return path.ends_with(".walj"); }

// Folders may be moved as a whole.
std::string_view name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

class StringWriter final : public base::FileWriter {
 public:
  explicit StringWriter(std::string& out) : out_(out) {}
  Status write(uint64_t offset, std::span<const std::byte> bytes) override {
    if (offset > out_.size() || bytes.size() > out_.size() - offset)
      return internal_error("a write behind the end of a new file", "sealed file");
    const std::string_view text = base::as_text(bytes);
    out_.replace(offset, text.size(), text);
    return {};
  }

 private:
  std::string& out_;
};
}  // namespace

Result<std::string> SealedEnv::read_prefix(const std::string& path, size_t size) {
  if (mapped(path)) return below_.read_prefix(path, size);
  WALLE_ASSIGN(std::string bytes, below_.read_file(path));
  std::string plain;
  const std::string_view magic = seal_magic(*aead_);
  if (std::string_view(bytes).starts_with(magic) &&
      aead_->unseal(std::string_view(bytes).substr(magic.size()), name_of(path), plain))
    bytes = std::move(plain);
  if (bytes.size() > size) bytes.resize(size);
  return bytes;
}

Status SealedEnv::replace_file(const std::string& path, uint64_t size, base::FileAccess access,
                               const std::function<Status(base::FileWriter&)>& fill) {
  std::string plain(size, '\0');
  StringWriter writer(plain);
  WALLE_TRY(fill(writer));
  WALLE_ASSIGN(std::string sealed, aead_->seal(plain, name_of(path)));
  sealed.insert(0, seal_magic(*aead_));
  return below_.replace_file(path, sealed.size(), access, [&](base::FileWriter& out) {
    return out.write(0, std::as_bytes(std::span(sealed)));
  });
}

Result<std::shared_ptr<base::Aead>> open_aead(Env& env, const std::string& dir, std::string_view key) {
  WALLE_ASSIGN(const MirroredFile note, MirroredFile::open(env, dir + kKeyFile, kKeyKind));
  const std::optional<Cipher> cipher = note.readable() ? cipher_of(note.content()) : std::nullopt;
  return base::Aead::open(key, cipher.value_or(Cipher::xchacha20_poly1305));
}

Status check_key(Env& env, const std::string& dir, base::Aead* aead, bool writing, bool empty) {
  WALLE_ASSIGN(MirroredFile note, MirroredFile::open(env, dir + kKeyFile, kKeyKind));
  const std::string where = "'" + dir + "'";
  const bool there = note.readable();
  if (note.found() == MirroredFile::Found::damaged)
    return model_error("a damaged note of the key: neither copy has its checksum", "one whole copy", where,
                       "restore key.walk or key.walk.mirror, or move the folder away");
  if (there && !aead)
    return argument_error("no key", "the key that these files were sealed with", where, "give the key");
  if (!there && !aead) return {};
  if (!there && !empty)
    return argument_error("a key", "no key: these files are not sealed", where,
                          "open it without a key; record it and replay it into a new folder with one");
  const std::optional<Cipher> cipher = there ? cipher_of(note.content()) : aead->cipher();
  if (!cipher)
    return model_error("a note of the key in no form that this version knows",
                       "AES-256-GCM or XChaCha20-Poly1305", where,
                       "open it with the version that wrote it; nothing was changed");
  std::string plain;
  if (there &&
      (cipher != aead->cipher() || !aead->unseal(sealed_part(note.content(), *cipher), kKnown, plain)))
    return argument_error("another key", "the key that these files were sealed with", where,
                          "give that key; nothing was changed");
  if (there) return writing ? note.mend() : Status();
  if (!writing) return {};
  WALLE_ASSIGN(std::string sealed, aead->seal(kKnown, kKnown));
  if (*cipher != Cipher::aes_256_gcm) sealed.insert(0, 1, static_cast<char>(*cipher));
  return note.write(sealed);
}

}  // namespace walle::store
