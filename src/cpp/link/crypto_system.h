// What Crypto::system() is: libsodium, which is compiled in, for digests and Ed25519; OpenSSL's libcrypto for
// RSA and ECDSA where there is one, loaded when the first such key is asked for. For tests; everybody else
// asks Crypto::system().
#pragma once

#include <memory>

#include "link/crypto.h"

namespace walle::link {

// `open_libcrypto` as of base/libcrypto.h: null where none is installed.
Result<std::unique_ptr<Crypto>> make_crypto(void* (*open_libcrypto)());

}  // namespace walle::link
