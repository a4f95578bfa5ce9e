/* The bytecode container: the built-in library and every task bundle. Layout in docs/concepts/vm.md.
 *
 * open: header, identity, checksum, string table, module table, then (bundles) every code object by
 * code_verify.c. Nothing of Python is built before all of that has passed. */
#include "vm/inside/code/bundle.h"
#include "vm/inside/code/bytes.h"

const char wvm_id[] = "cpython-3.13.5/walle-2";

static wvm_bundle* library;

wvm_bundle* wvm_library(void) { return library; }
void wvm_set_library(wvm_bundle* bundle) { library = bundle; }

/* Flags of a module's entry. */
enum { kIsPackage = 1, kBehindFirst = 2 };

/* The layout's own, and bounds on what a hostile container may make us allocate: far above the built-in
 * library, which has 1 MB in all. */
enum {
  kIdBytes = 32,
  kHeaderBytes = 60,
  kChecksumAt = 40,
  kMaxRaw = 64 << 20,
  kMaxStrings = 1 << 20,
  kMaxModules = 1 << 14
};

uint32_t wvm_checksum(const uint8_t* data, size_t size) {
  uint32_t crc = 0xffffffffu;
  /* CRC-32 bit by bit: a table would cost 1 KB to save some milliseconds per MB, once per bundle. */
  for (size_t i = 0; i < size; ++i) {
    crc ^= data[i];
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (0xedb88320u & (0u - (crc & 1)));
  }
  return ~crc;
}

/* Strings: count lengths, then all bytes; `raw` holds exactly that. */
static const char* index_strings(wvm_bundle* bundle, const uint8_t* raw, size_t size) {
  wvm_reader r = {raw, raw + size, NULL};
  bundle->string_offsets = malloc(((size_t)bundle->string_count + 1) * sizeof(uint32_t));
  if (bundle->string_offsets == NULL) return "no memory";
  uint64_t total = 0;
  for (uint32_t i = 0; i < bundle->string_count; ++i) {
    bundle->string_offsets[i] = (uint32_t)total;
    total += take_varint(&r);
    if (total > size) return "the strings are longer than their table";
  }
  bundle->string_offsets[bundle->string_count] = (uint32_t)total;
  if (r.failed) return r.failed;
  if (total != reader_left(&r)) return "the string table has another size than its strings";
  bundle->string_pool = r.at;
  return NULL;
}

static const uint8_t* unpack(const uint8_t* stored, uint32_t stored_size, uint32_t raw_size,
                             wvm_module* prior, uint8_t** memory) {
  if (stored_size == raw_size) return stored;
  const uint8_t* before = prior ? wvm_module_bytes(prior) : NULL;
  if (prior != NULL && before == NULL) return NULL;
  uint8_t* raw = malloc(raw_size ? raw_size : 1);
  if (raw == NULL ||
      wvm_inflate(stored, stored_size, raw, raw_size, before, prior ? prior->raw_size : 0) != 0) {
    free(raw);
    return NULL;
  }
  *memory = raw;
  return raw;
}

const uint8_t* wvm_module_bytes(wvm_module* module) {
  if (module->stored_size == module->raw_size) return module->stored;
  const uint8_t* known = atomic_load(&module->raw);
  if (known != NULL) return known;
  uint8_t* memory = NULL;
  const uint8_t* raw = unpack(module->stored, module->stored_size, module->raw_size, module->prior, &memory);
  if (raw == NULL) return NULL;
  const uint8_t* expected = NULL;
  if (atomic_compare_exchange_strong(&module->raw, &expected, raw)) return raw;
  free(memory); /* another isolate was faster */
  return expected;
}

static const char* read_modules(wvm_bundle* bundle, wvm_reader* r, int trusted) {
  const uint32_t known_flags = trusted ? kIsPackage | kBehindFirst : kIsPackage;
  bundle->modules = calloc(bundle->module_count ? bundle->module_count : 1, sizeof(wvm_module));
  if (bundle->modules == NULL) return "no memory";
  uint64_t total = 0;
  for (uint32_t i = 0; i < bundle->module_count; ++i) {
    wvm_module* m = &bundle->modules[i];
    m->name = take_u32(r);
    m->file = take_u32(r);
    const uint32_t flags = take_u32(r);
    m->is_package = flags & kIsPackage;
    m->prior = flags & kBehindFirst && i > 0 ? bundle->modules : NULL;
    m->raw_size = take_u32(r);
    m->stored_size = take_u32(r);
    if (m->name >= bundle->string_count || m->file >= bundle->string_count || flags & ~known_flags)
      return "a module entry is damaged";
    total += m->raw_size;
    if (total > kMaxRaw || m->stored_size > m->raw_size) return "the modules' sizes are impossible";
  }
  for (uint32_t i = 0; i < bundle->module_count; ++i)
    bundle->modules[i].stored = take_block(r, bundle->modules[i].stored_size);
  if (r->failed) return r->failed;
  return r->at == r->end ? NULL : "bytes follow the last module";
}

static const char* read_header(wvm_bundle* bundle, const uint8_t* data, size_t size, int trusted,
                               wvm_reader* r, uint32_t* raw_size, uint32_t* stored_size) {
  char id[kIdBytes] = {0};
  memcpy(id, wvm_id, sizeof wvm_id);
  if (size < kHeaderBytes || memcmp(data, "WVMB\1\0\0\0", 8) != 0)
    return "this is not a bytecode container (version 1)";
  if (memcmp(data + 8, id, kIdBytes) != 0) return "compiled for another VM";
  *r = (wvm_reader){data + kChecksumAt, data + size, NULL};
  const uint32_t expected = take_u32(r);
  if (!trusted && wvm_checksum(r->at, reader_left(r)) != expected)
    return "the checksum does not match: damaged or truncated";
  bundle->string_count = take_u32(r);
  *raw_size = take_u32(r);
  *stored_size = take_u32(r);
  bundle->module_count = take_u32(r);
  if (bundle->string_count > kMaxStrings || bundle->module_count > kMaxModules || *raw_size > kMaxRaw ||
      *stored_size > *raw_size) {
    return "the header's counts are impossible";
  }
  return NULL;
}

static const char* open_container(wvm_bundle* bundle, const uint8_t* data, size_t size, int trusted) {
  wvm_reader r;
  uint32_t raw_size = 0, stored_size = 0;
  const char* wrong = read_header(bundle, data, size, trusted, &r, &raw_size, &stored_size);
  if (wrong != NULL) return wrong;
  const uint8_t* stored = take_block(&r, stored_size);
  if (r.failed) return r.failed;
  const uint8_t* raw = unpack(stored, stored_size, raw_size, NULL, &bundle->string_memory);
  if (raw == NULL) return "the string table does not inflate";
  wrong = index_strings(bundle, raw, raw_size);
  return wrong != NULL ? wrong : read_modules(bundle, &r, trusted);
}

static int verify_all(wvm_bundle* bundle, char* error, size_t error_size) {
  wvm_weight weight = {0, 0};
  for (uint32_t i = 0; i < bundle->module_count; ++i) {
    wvm_module* module = &bundle->modules[i];
    const uint8_t* raw = wvm_module_bytes(module);
    if (raw == NULL) {
      snprintf(error, error_size, "module %u does not inflate", i);
      return -1;
    }
    if (wvm_verify_module(bundle, raw, module->raw_size, &weight, error, error_size) < 0) return -1;
  }
  return 0;
}

wvm_bundle* wvm_bundle_open_checked(const uint8_t* data, size_t size, int trusted, char* error,
                                    size_t error_size) {
  wvm_bundle* bundle = calloc(1, sizeof *bundle);
  if (bundle == NULL) {
    snprintf(error, error_size, "no memory");
    return NULL;
  }
  atomic_init(&bundle->references, 1);
  const char* wrong = open_container(bundle, data, size, trusted);
  if (wrong != NULL) snprintf(error, error_size, "%s", wrong);
  if (wrong == NULL && (trusted || verify_all(bundle, error, error_size) == 0)) return bundle;
  wvm_bundle_drop(bundle);
  return NULL;
}

void wvm_bundle_drop(wvm_bundle* bundle) {
  if (bundle == NULL || atomic_fetch_sub(&bundle->references, 1) != 1) return;
  for (uint32_t i = 0; bundle->modules != NULL && i < bundle->module_count; ++i)
    free((void*)atomic_load(&bundle->modules[i].raw));
  free(bundle->modules);
  free(bundle->string_offsets);
  free(bundle->string_memory);
  free(bundle);
}

wvm_module* wvm_bundle_find(wvm_bundle* bundle, const char* name, size_t size) {
  for (uint32_t i = 0; bundle != NULL && i < bundle->module_count; ++i) {
    const uint32_t number = bundle->modules[i].name;
    const uint32_t at = bundle->string_offsets[number];
    if (bundle->string_offsets[number + 1] - at == size && memcmp(bundle->string_pool + at, name, size) == 0)
      return &bundle->modules[i];
  }
  return NULL;
}
