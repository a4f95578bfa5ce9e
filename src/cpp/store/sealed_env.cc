#include "store/sealed_env.h"

#include "base/bytes.h"
#include "store/mirrored_file.h"

namespace walle::store {

namespace {
constexpr std::string_view kSealMagic = "WALSEAL1";
constexpr const char* kKeyFile = "/key.walk";
constexpr const char* kKeyKind = "KEYC";
constexpr std::string_view kKnown = "walle_rt log key";  // what the note holds, sealed

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
  if (std::string_view(bytes).starts_with(kSealMagic) &&
      aead_->unseal(std::string_view(bytes).substr(kSealMagic.size()), name_of(path), plain))
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
  sealed.insert(0, kSealMagic);
  return below_.replace_file(path, sealed.size(), access, [&](base::FileWriter& out) {
    return out.write(0, std::as_bytes(std::span(sealed)));
  });
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
  std::string plain;
  if (there && !aead->unseal(note.content(), kKnown, plain))
    return argument_error("another key", "the key that these files were sealed with", where,
                          "give that key; nothing was changed");
  if (there) return writing ? note.mend() : Status();
  if (!writing) return {};
  WALLE_ASSIGN(const std::string sealed, aead->seal(kKnown, kKnown));
  return note.write(sealed);
}

}  // namespace walle::store
