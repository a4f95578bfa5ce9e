// TlsLibrary: the functions of the system's libssl (OpenSSL 3 or 1.1) that a client needs, found when
// somebody first asks.
//
// Thread-safe. The constants are of <openssl/ssl.h> and <openssl/bio.h> and part of their ABI; a build needs
// no OpenSSL headers so.
#pragma once

#include "base/status.h"

namespace walle::link {

struct TlsLibrary {
  const void* (*client_method)() = nullptr;
  void* (*context_new)(const void*) = nullptr;
  void (*context_free)(void*) = nullptr;
  long (*context_control)(void*, int, long, void*) = nullptr;
  int (*load_verify_locations)(void*, const char*, const char*) = nullptr;
  int (*use_certificate_chain_file)(void*, const char*) = nullptr;
  int (*use_private_key_file)(void*, const char*, int) = nullptr;
  int (*check_private_key)(const void*) = nullptr;
  void (*set_verify)(void*, int, void*) = nullptr;
  void (*set_passphrase)(void*, int (*)(char*, int, int, void*)) = nullptr;
  void (*on_session)(void*, int (*)(void*, void*)) = nullptr;
  void* (*ssl_new)(void*) = nullptr;
  void (*ssl_free)(void*) = nullptr;
  long (*ssl_control)(void*, int, long, void*) = nullptr;
  int (*set_data)(void*, int, void*) = nullptr;
  void* (*data)(const void*, int) = nullptr;
  void* (*parameters)(void*) = nullptr;
  int (*set_host)(void*, const char*) = nullptr;
  int (*set_session)(void*, void*) = nullptr;
  int (*session_reused)(const void*) = nullptr;
  void (*set_bio)(void*, void*, void*) = nullptr;
  void (*set_connect_state)(void*) = nullptr;
  int (*handshake)(void*) = nullptr;
  int (*read)(void*, void*, int) = nullptr;
  int (*write)(void*, const void*, int) = nullptr;
  int (*shutdown)(void*) = nullptr;
  int (*error)(const void*, int) = nullptr;
  long (*verify_result)(const void*) = nullptr;
  int (*write_session)(void*, unsigned char**) = nullptr;
  void* (*read_session)(void**, const unsigned char**, long) = nullptr;
  void (*session_free)(void*) = nullptr;
  // Of libcrypto.
  void* (*bio_new)(const void*) = nullptr;
  const void* (*memory_bio)() = nullptr;
  int (*bio_read)(void*, void*, int) = nullptr;
  int (*bio_write)(void*, const void*, int) = nullptr;
  int (*set_ip)(void*, const char*) = nullptr;
  unsigned long (*next_error)() = nullptr;
  void (*error_text)(unsigned long, char*, unsigned long) = nullptr;
  void (*clear_errors)() = nullptr;
  const char* (*verify_text)(long) = nullptr;
};

// A resource error with the remedy where no libssl is installed.
Result<const TlsLibrary*> tls_library();
// The same of a library as dlopen() gave it, or null. For tests.
Result<TlsLibrary> tls_library(void* library);

}  // namespace walle::link
