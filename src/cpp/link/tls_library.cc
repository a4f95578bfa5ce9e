#include "link/tls_library.h"

#include <dlfcn.h>

#include <initializer_list>

#include "base/libcrypto.h"

namespace walle::link {

namespace {
void* open_libssl() {
  for (const char* name : {"libssl.so.3", "libssl.so.1.1", "libssl.3.dylib"})
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  return nullptr;
}

// Functions of libcrypto are found through libssl, which was linked with it: of another version they would
// not fit.
bool load(void* library, TlsLibrary& f) {
  using base::find_function;
  return find_function(library, "TLS_client_method", f.client_method) &&
         find_function(library, "SSL_CTX_new", f.context_new) &&
         find_function(library, "SSL_CTX_free", f.context_free) &&
         find_function(library, "SSL_CTX_ctrl", f.context_control) &&
         find_function(library, "SSL_CTX_load_verify_locations", f.load_verify_locations) &&
         find_function(library, "SSL_CTX_use_certificate_chain_file", f.use_certificate_chain_file) &&
         find_function(library, "SSL_CTX_use_PrivateKey_file", f.use_private_key_file) &&
         find_function(library, "SSL_CTX_check_private_key", f.check_private_key) &&
         find_function(library, "SSL_CTX_set_verify", f.set_verify) &&
         find_function(library, "SSL_CTX_set_default_passwd_cb", f.set_passphrase) &&
         find_function(library, "SSL_CTX_sess_set_new_cb", f.on_session) &&
         find_function(library, "SSL_new", f.ssl_new) && find_function(library, "SSL_free", f.ssl_free) &&
         find_function(library, "SSL_ctrl", f.ssl_control) &&
         find_function(library, "SSL_set_ex_data", f.set_data) &&
         find_function(library, "SSL_get_ex_data", f.data) &&
         find_function(library, "SSL_get0_param", f.parameters) &&
         find_function(library, "SSL_set1_host", f.set_host) &&
         find_function(library, "SSL_set_session", f.set_session) &&
         find_function(library, "SSL_session_reused", f.session_reused) &&
         find_function(library, "SSL_set_bio", f.set_bio) &&
         find_function(library, "SSL_set_connect_state", f.set_connect_state) &&
         find_function(library, "SSL_do_handshake", f.handshake) &&
         find_function(library, "SSL_read", f.read) && find_function(library, "SSL_write", f.write) &&
         find_function(library, "SSL_shutdown", f.shutdown) &&
         find_function(library, "SSL_get_error", f.error) &&
         find_function(library, "SSL_get_verify_result", f.verify_result) &&
         find_function(library, "i2d_SSL_SESSION", f.write_session) &&
         find_function(library, "d2i_SSL_SESSION", f.read_session) &&
         find_function(library, "SSL_SESSION_free", f.session_free) &&
         find_function(library, "BIO_new", f.bio_new) && find_function(library, "BIO_s_mem", f.memory_bio) &&
         find_function(library, "BIO_read", f.bio_read) && find_function(library, "BIO_write", f.bio_write) &&
         find_function(library, "X509_VERIFY_PARAM_set1_ip_asc", f.set_ip) &&
         find_function(library, "ERR_get_error", f.next_error) &&
         find_function(library, "ERR_error_string_n", f.error_text) &&
         find_function(library, "ERR_clear_error", f.clear_errors) &&
         find_function(library, "X509_verify_cert_error_string", f.verify_text);
}
}  // namespace

Result<TlsLibrary> tls_library(void* library) {
  TlsLibrary functions;
  if (!load(library, functions))
    return resource_error("no libssl.so.3 or libssl.so.1.1", "OpenSSL's libssl", "the tunnel's TLS",
                          "install OpenSSL (Debian: libssl3)");
  return functions;
}

Result<const TlsLibrary*> tls_library() {
  // Loaded for good, as libcrypto is.
  static const Result<TlsLibrary> loaded = tls_library(open_libssl());
  if (!loaded.ok()) return loaded.error();
  return &*loaded;
}

}  // namespace walle::link
