// The two libraries behind an Aead. For aead*.cc alone.
#pragma once

#include "base/aead.h"

namespace walle::base {

// The lengths of libcrypto are int; a file of a log is at most 2^28 bytes.
inline constexpr size_t kMostSealedBytes = size_t{1} << 30;

inline const unsigned char* octets(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
inline unsigned char* octets(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

Result<std::shared_ptr<Aead>> open_aes_gcm(std::string_view key);
Result<std::shared_ptr<Aead>> open_xchacha20(std::string_view key);

}  // namespace walle::base
