/* Bundles: containers of bytecode, the built-in library and what tasks bring. */
#ifndef WALLE_VM_BUNDLE_H
#define WALLE_VM_BUNDLE_H

#include "vm/inside/run/state.h"

typedef struct wvm_module {
  uint32_t name, file; /* string numbers */
  uint32_t is_package;
  uint32_t raw_size, stored_size;
  struct wvm_module* prior; /* the module that it was deflated behind; NULL: none */
  const uint8_t* stored;
  _Atomic(const uint8_t*) raw; /* inflated on first import, shared by all isolates */
} wvm_module;

struct wvm_bundle {
  atomic_int references;
  const uint8_t* string_pool; /* inflated */
  uint8_t* string_memory;
  uint32_t* string_offsets; /* count + 1 */
  uint32_t string_count;
  wvm_module* modules;
  uint32_t module_count;
};

/* What the modules of one container will become: few bytes can name one long string, or deflate to one
 * constant, very often. */
typedef struct {
  uint64_t objects, string_bytes;
} wvm_weight;

/* Longer qualified names are stored: a bundle of few bytes could otherwise ask for gigabytes of derived ones.
 */
enum { WVM_DERIVED_NAME = 4096 };

/* In co_flags of the library's own code, set by code_reader.c alone: who asks for an import goes by it. No
 * flag of CPython's, and none that a bundle or replace() can set. */
enum { WVM_LIBRARY_CODE = 1 << 30 };

extern const char wvm_id[];
wvm_bundle* wvm_library(void);            /* the built-in container */
void wvm_set_library(wvm_bundle* bundle); /* while the VM starts */
wvm_bundle* wvm_bundle_open_checked(const uint8_t* data, size_t size, int trusted, char* error,
                                    size_t error_size);
void wvm_bundle_drop(wvm_bundle* bundle);
wvm_module* wvm_bundle_find(wvm_bundle* bundle, const char* name, size_t size);
uint32_t wvm_checksum(const uint8_t* data, size_t size); /* CRC-32 */
const uint8_t* wvm_module_bytes(wvm_module* module);
/* 0 only when exactly filled. `prior`: bytes that are thought to come before `out`. */
int wvm_inflate(const uint8_t* data, size_t size, uint8_t* out, size_t out_size, const uint8_t* prior,
                size_t prior_size);
int wvm_verify_module(const wvm_bundle* bundle, const uint8_t* data, size_t size, wvm_weight* weight,
                      char* error, size_t error_size);
PyObject* wvm_read_module(wvm_bundle* bundle, wvm_module* module);
int wvm_write_container(const wvm_source* sources, size_t count, int library, wvm_blob* blob);

#endif
