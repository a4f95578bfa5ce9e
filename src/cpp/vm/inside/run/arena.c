/* A bump allocator for one result: conversions take many small pieces and give all of them back at once. Uses
 * malloc directly, because the host frees results outside any isolate. */
#include "vm/inside/run/arena.h"

/* A tensor that was made for this result alone. */
typedef struct held {
  struct held* next;
  wvm_tensor* tensor;
} held;

typedef struct chunk {
  struct chunk* next;
  size_t used, room;
  held* tensors;
} chunk;

/* 2 KB with the head. Larger pieces have a chunk of their own, and what is left of the one before is lost. */
enum { kChunkBytes = 2048 - sizeof(chunk) };

void* wvm_arena_take(void** arena, size_t size) {
  size = (size + 15) & ~(size_t)15;
  chunk* top = *arena;
  if (top == NULL || top->room - top->used < size) {
    const size_t room = size > kChunkBytes ? size : kChunkBytes;
    chunk* fresh = malloc(sizeof(chunk) + room);
    if (fresh == NULL) return NULL;
    *fresh = (chunk){.next = top, .room = room};
    *arena = top = fresh;
  }
  void* piece = (char*)(top + 1) + top->used;
  top->used += size;
  return piece;
}

char* wvm_arena_text(void** arena, const char* text, size_t size) {
  char* copy = wvm_arena_take(arena, size + 1);
  if (copy == NULL) return NULL;
  if (size) memcpy(copy, text, size);
  copy[size] = 0;
  return copy;
}

int wvm_arena_hold(void** arena, wvm_tensor* tensor) {
  held* entry = wvm_arena_take(arena, sizeof *entry);
  if (entry == NULL) return -1;
  chunk* top = *arena;
  *entry = (held){top->tensors, tensor};
  top->tensors = entry;
  return 0;
}

void wvm_arena_free(void* arena) {
  for (chunk* top = arena; top != NULL;) {
    chunk* next = top->next;
    for (const held* entry = top->tensors; entry != NULL; entry = entry->next)
      entry->tensor->release(entry->tensor);
    free(top);
    top = next;
  }
}
