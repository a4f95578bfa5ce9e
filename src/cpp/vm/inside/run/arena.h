/* Arena: what results live in. */
#ifndef WALLE_VM_ARENA_H
#define WALLE_VM_ARENA_H

#include "vm/inside/run/state.h"

void* wvm_arena_take(void** arena, size_t size);
char* wvm_arena_text(void** arena, const char* text, size_t size);
int wvm_arena_hold(void** arena, wvm_tensor* tensor); /* takes the reference over; -1: no memory */
void wvm_arena_free(void* arena);

#endif
