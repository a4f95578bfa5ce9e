/* The one exported function and the table behind it. */
#include <pthread.h>

#include "vm/inside/inside.h"

walle_vm_isolate* walle_vm_create(const walle_vm_limits* limits, void* user, walle_vm_result* failure);
void walle_vm_destroy(walle_vm_isolate* isolate);
int walle_vm_attach(walle_vm_isolate* isolate, walle_vm_bundle* bundle, walle_vm_result* result);
void walle_vm_call(walle_vm_isolate* isolate, const char* module, const char* function,
                   const walle_vm_value* args, size_t count, walle_vm_result* result);
void walle_vm_release_result(walle_vm_result* result);
void walle_vm_read_stats(const walle_vm_isolate* isolate, walle_vm_stats* stats);
#if WALLE_VM_FULL
void walle_vm_run_source(walle_vm_isolate* isolate, const walle_vm_source* source, walle_vm_result* result);
int walle_vm_compile(const walle_vm_source* sources, size_t count, walle_vm_blob* blob,
                     walle_vm_result* failure);
#endif

static int start_once(const walle_vm_host* host, char* error, size_t error_size) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static int state; /* 0 not tried, 1 runs, -1 failed */
  static char why[256];
  pthread_mutex_lock(&lock);
  if (state == 0) state = walle_vm_start(host, why, sizeof why) == 0 ? 1 : -1;
  const int ok = state == 1;
  if (!ok) snprintf(error, error_size, "%s", why);
  pthread_mutex_unlock(&lock);
  return ok ? 0 : -1;
}

static walle_vm_bundle* open_bundle(const uint8_t* data, size_t size, char* error, size_t error_size) {
  return walle_vm_bundle_open_checked(data, size, 0, error, error_size);
}

static size_t list_modules(const walle_vm_bundle* bundle, const char** names, size_t room) {
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
  const walle_vm_bundle* library = walle_vm_library();
  size_t total = library ? list_modules(library, names, room) : 0;
  for (const struct _inittab* entry = PyImport_Inittab; entry->name != NULL; ++entry, ++total) {
    if (total < room) names[total] = strdup(entry->name);
  }
  return total;
}

static void release_blob(walle_vm_blob* blob) {
  free(blob->arena);
  *blob = (walle_vm_blob){0};
}

static const walle_vm_api kApi = {
    .abi = WALLE_VM_ABI,
    .id = walle_vm_id,
#if WALLE_VM_FULL
    .flavour = "full",
    .run_source = walle_vm_run_source,
    .compile = walle_vm_compile,
#else
    .flavour = "device",
#endif
    .python = PY_VERSION,
    .start = start_once,
    .create = walle_vm_create,
    .destroy = walle_vm_destroy,
    .attach = walle_vm_attach,
    .call = walle_vm_call,
    .cancel = walle_vm_interrupt,
    .stats = walle_vm_read_stats,
    .release_result = walle_vm_release_result,
    .bundle_open = open_bundle,
    .bundle_release = walle_vm_bundle_drop,
    .bundle_modules = list_modules,
    .library_modules = list_library,
    .release_blob = release_blob,
};

__attribute__((visibility("default"))) const walle_vm_api* walle_vm_entry(uint32_t abi) {
  return abi == WALLE_VM_ABI ? &kApi : NULL;
}
