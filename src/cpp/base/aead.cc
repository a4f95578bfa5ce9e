#include "base/aead_kinds.h"

namespace walle::base {

Result<std::shared_ptr<Aead>> Aead::open(std::string_view key, Cipher cipher) {
  if (key.size() != kKeyBytes)
    return argument_error({"a key of ", key.size(), " bytes"}, "32 bytes", "encryption at rest",
                          "derive one of that size, or draw it with os.urandom(32)");
  return cipher == Cipher::aes_256_gcm ? open_aes_gcm(key) : open_xchacha20(key);
}

}  // namespace walle::base
