#include "base/libcrypto.h"

#include <dlfcn.h>

#include <initializer_list>

namespace walle::base {

void* open_libcrypto() {
  static void* const loaded = []() -> void* {
    for (const char* name : {"libcrypto.so.3", "libcrypto.so.1.1", "libcrypto.3.dylib"})
      if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
    return nullptr;
  }();
  return loaded;
}

bool find_function(void* library, const char* name, void*& out) {
  out = library ? dlsym(library, name) : nullptr;
  return out != nullptr;
}

}  // namespace walle::base
