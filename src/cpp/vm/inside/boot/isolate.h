/* Isolates: what the table of entry.c offers of one. */
#ifndef WALLE_VM_ISOLATE_H
#define WALLE_VM_ISOLATE_H

#include "vm/inside/run/state.h"

wvm_isolate* wvm_create(void* user, wvm_result* failure);
void wvm_destroy(wvm_isolate* isolate);
int wvm_limit(wvm_isolate* isolate, const wvm_limits* limits);
int wvm_attach(wvm_isolate* isolate, wvm_bundle* bundle, wvm_result* result);
void wvm_call(wvm_isolate* isolate, const char* module, const char* function, const wvm_value* args,
              size_t count, wvm_result* result);
void wvm_release_result(wvm_result* result);
void wvm_read_stats(const wvm_isolate* isolate, wvm_stats* stats);
#if WALLE_VM_FULL
void wvm_run_source(wvm_isolate* isolate, const wvm_source* source, wvm_result* result);
int wvm_compile(const wvm_source* sources, size_t count, void* user, wvm_blob* blob, wvm_result* failure);
#endif

#endif
