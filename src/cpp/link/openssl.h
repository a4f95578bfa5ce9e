// OpenSSL: libcrypto's functions as Crypto. For tests; everybody else asks Crypto::system().
#pragma once

#include <memory>

#include "link/crypto.h"

namespace walle::link {

// `library` as dlopen() gave it, or null: a resource error that says how to install it.
Result<std::unique_ptr<Crypto>> openssl_crypto(void* library);

}  // namespace walle::link
