/* The one exported function and the table behind it. */
#include <pthread.h>

#include "vm/inside/boot/boot.h"
#include "vm/inside/boot/isolate.h"
#include "vm/inside/code/bundle.h"
#include "vm/inside/run/interrupt.h"

static int start_once(const wvm_host* host, char* error, size_t error_size) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static int state; /* 0 not tried, 1 runs, -1 failed */
  static char why[256];
  pthread_mutex_lock(&lock);
  if (state == 0) state = wvm_start(host, why, sizeof why) == 0 ? 1 : -1;
  const int ok = state == 1;
  if (!ok) snprintf(error, error_size, "%s", why);
  pthread_mutex_unlock(&lock);
  return ok ? 0 : -1;
}

static wvm_bundle* open_bundle(const uint8_t* data, size_t size, char* error, size_t error_size) {
  return wvm_bundle_open_checked(data, size, 0, error, error_size);
}

static size_t list_modules(const wvm_bundle* bundle, const char** names, size_t room) {
  /* Strings in the container are not terminated, hence copies. */
  for (uint32_t i = 0; i < bundle->module_count && i < room; ++i) {
    const uint32_t number = bundle->modules[i].name;
    const uint32_t at = bundle->string_offsets[number];
    names[i] = strndup((const char*)bundle->string_pool + at, bundle->string_offsets[number + 1] - at);
  }
  return bundle->module_count;
}

/* The container's modules, then the built-in ones. */
static size_t list_library(const char** names, size_t room) {
  const wvm_bundle* library = wvm_library();
  size_t total = library ? list_modules(library, names, room) : 0;
  for (const struct _inittab* entry = PyImport_Inittab; entry->name != NULL; ++entry, ++total) {
    if (total < room) names[total] = strdup(entry->name);
  }
  return total;
}

static void release_blob(wvm_blob* blob) {
  free(blob->arena);
  *blob = (wvm_blob){0};
}

static const wvm_api kApi = {
    .abi = WVM_ABI,
    .id = wvm_id,
#if WALLE_VM_FULL
    .flavour = "full",
    .run_source = wvm_run_source,
    .compile = wvm_compile,
#else
    .flavour = "device",
#endif
    .python = PY_VERSION,
    .start = start_once,
    .create = wvm_create,
    .destroy = wvm_destroy,
    .limit = wvm_limit,
    .attach = wvm_attach,
    .call = wvm_call,
    .cancel = wvm_interrupt,
    .nudge = wvm_nudge,
    .stats = wvm_read_stats,
    .release_result = wvm_release_result,
    .bundle_open = open_bundle,
    .bundle_release = wvm_bundle_drop,
    .bundle_modules = list_modules,
    .library_modules = list_library,
    .release_blob = release_blob,
};

__attribute__((visibility("default"))) const wvm_api* walle_vm_entry(uint32_t abi) {
  return abi == WVM_ABI ? &kApi : NULL;
}
