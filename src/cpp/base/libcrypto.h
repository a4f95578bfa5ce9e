// The system's libcrypto (OpenSSL 3 or 1.1), loaded when somebody first needs it: `import walle_rt` and
// programs that use neither keys nor signatures never see it.
//
// Thread-safe.
#pragma once

namespace walle::base {

// Null where none is installed. Loaded for good: its threads and atexit handlers do not outlive an unloading.
void* open_libcrypto();

// True when the library has the function, which is then in `out`.
bool find_function(void* library, const char* name, void*& out);

template <class Function>
bool find_function(void* library, const char* name, Function& out) {
  void* found = nullptr;
  if (!find_function(library, name, found)) return false;
  out = reinterpret_cast<Function>(found);
  return true;
}

}  // namespace walle::base
