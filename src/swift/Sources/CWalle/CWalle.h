// The public C headers as one module. It knows nothing else of libwalle.
#include <walle/device.h>

// dladdr(), which Apple's headers show, and glibc's only to who asks for more than POSIX: a module cannot.
#if defined(__linux__)
typedef struct walle_loaded_t {
  const char* file;
  void* base;
  const char* symbol;
  void* address;
} walle_loaded_t;
int walle_loaded(const void* address, walle_loaded_t* loaded) __asm__("dladdr");
#endif
