/* Every allocation of an isolate is counted against its cap: raw memory by the block size malloc really gave,
 * small objects by whole arenas. Beyond the cap the allocation fails, which Python turns into MemoryError. */
#if defined(__APPLE__)
#include <malloc/malloc.h>
#define malloc_usable_size malloc_size
#else
#include <malloc.h>
#endif
#include <sys/mman.h>

#include "vm/inside/run/interrupt.h"
#include "vm/inside/run/memory.h"

#include <internal/pycore_ceval.h>

_Thread_local wvm_isolate* wvm_current;

/* A task that swallows MemoryError and asks again is stopped after this many refusals in one call; ordinary
 * code that copes with one meets few. Arenas are CPython's small ones (edits/memory.py): the limit is exact
 * to one. Sixteen that wait for their next isolate are 4 MB, the most that is kept for nobody. */
enum { kPatience = 1000, kArenaBytes = 256 * 1024, kKeptArenas = 16 };

static int fits(size_t bytes) {
  const wvm_isolate* isolate = wvm_current;
  if (isolate == NULL || isolate->heap_cap == 0) return 1;
  return bytes <= isolate->heap_cap && wvm_count(&isolate->heap) <= isolate->heap_cap - bytes;
}

/* 0 counts as a refusal. */
static int room_for(size_t bytes) {
  if (fits(bytes)) return 1;
  wvm_isolate* isolate = wvm_current;
  wvm_tally(&isolate->denied);
  if (wvm_count(&isolate->denied) - isolate->denied_before > kPatience)
    wvm_interrupt(isolate, WVM_REASON_HEAP);
  return 0;
}

/* Close to its cap a heap is looked through before it is refused more: cycles of large things are few
 * objects, and the collector counts objects. Again only when it has grown by a sixteenth, so that a heap that
 * is full of what is in use is not looked through all the time. */
static void collect_soon(wvm_isolate* isolate, uint64_t heap) {
  const uint64_t cap = isolate->heap_cap;
  if (isolate->collect_at == 0 || heap < cap / 2) isolate->collect_at = cap - cap / 4;
  if (heap <= isolate->collect_at) return;
  isolate->collect_at = heap + cap / 16;
  isolate->wants_collection = 1;
  _Py_set_eval_breaker_bit(isolate->thread, _PY_GC_SCHEDULED_BIT);
}

/* Asked by CPython when it is about to collect on its own account: 1 if all generations are to be looked at.
 */
int wvm_wants_collection(void) {
  wvm_isolate* isolate = wvm_current;
  if (isolate == NULL || !isolate->wants_collection) return 0;
  isolate->wants_collection = 0;
  return 1;
}

/* Also where the task has switched its collector off: the limit is the host's. */
void wvm_collect_garbage(void) {
  PyObject* exception = PyErr_GetRaisedException();
  const int enabled = PyGC_Enable();
  PyGC_Collect();
  if (!enabled) PyGC_Disable();
  PyErr_SetRaisedException(exception);
}

static void count(ptrdiff_t bytes) {
  wvm_isolate* isolate = wvm_current;
  if (isolate == NULL) return;
  const uint64_t heap = wvm_count(&isolate->heap) + (uint64_t)bytes;
  wvm_set_count(&isolate->heap, heap);
  if (bytes <= 0) return;
  if (heap > wvm_count(&isolate->heap_peak)) wvm_set_count(&isolate->heap_peak, heap);
  if (isolate->heap_cap != 0) collect_soon(isolate, heap);
}

/* For allocations whose failure nobody could report (a static type's dictionary): bounded by 256 KB for all
 * types. */
size_t wvm_lift_heap_cap(void) {
  wvm_isolate* isolate = wvm_current;
  if (isolate == NULL) return 0;
  const size_t cap = isolate->heap_cap;
  isolate->heap_cap = 0;
  return cap;
}

void wvm_restore_heap_cap(size_t cap) {
  if (wvm_current != NULL) wvm_current->heap_cap = cap;
}

int wvm_charge(size_t bytes, int may_collect) {
  if (may_collect && !fits(bytes)) wvm_collect_garbage();
  if (!room_for(bytes)) {
    PyErr_NoMemory();
    return -1;
  }
  count((ptrdiff_t)bytes);
  return 0;
}

void wvm_discharge(size_t bytes) { count(-(ptrdiff_t)bytes); }

int wvm_make_room(size_t bytes) {
  if (wvm_charge(bytes, 1) < 0) return -1;
  wvm_discharge(bytes);
  return 0;
}

/* The size that malloc really gave, not the one asked for: what small blocks cost beyond their bytes counts
 * as well. glibc reads it from the word in front of the block. */
static void* raw_malloc(void* context, size_t size) {
  (void)context;
  if (!room_for(size)) return NULL;
  void* block = malloc(size ? size : 1);
  if (block) count((ptrdiff_t)malloc_usable_size(block));
  return block;
}

static void* raw_calloc(void* context, size_t items, size_t size) {
  (void)context;
  if (size && items > SIZE_MAX / size) return NULL;
  if (!room_for(items * size)) return NULL;
  void* block = calloc(items ? items : 1, size ? size : 1);
  if (block) count((ptrdiff_t)malloc_usable_size(block));
  return block;
}

static void raw_free(void* context, void* block) {
  (void)context;
  if (block == NULL) return;
  count(-(ptrdiff_t)malloc_usable_size(block));
  free(block);
}

static void* raw_realloc(void* context, void* block, size_t size) {
  (void)context;
  const size_t before = block ? malloc_usable_size(block) : 0;
  if (size > before && !room_for(size - before)) return NULL;
  void* moved = realloc(block, size ? size : 1);
  if (moved) count((ptrdiff_t)malloc_usable_size(moved) - (ptrdiff_t)before);
  return moved;
}

/* For the states of hashes (edits/memory.py): counted, and never refused. */
void* wvm_hash_malloc(size_t size) {
  void* block = malloc(size);
  if (block) count((ptrdiff_t)malloc_usable_size(block));
  return block;
}

void* wvm_hash_calloc(size_t items, size_t size) {
  void* block = wvm_hash_malloc(items * size);
  return block == NULL ? NULL : memset(block, 0, items * size);
}

void wvm_hash_free(void* block) { raw_free(NULL, block); }

/* Arenas of ended isolates wait here for the next one: mapping and unmapping dominated creation before. */
static void* kept[kKeptArenas];
static int kept_count;
/* Spins: it is held for some instructions, when an arena comes or goes. */
static atomic_flag kept_lock = ATOMIC_FLAG_INIT;

static void* take_kept(void) {
  void* arena = NULL;
  while (atomic_flag_test_and_set_explicit(&kept_lock, memory_order_acquire)) {
  }
  if (kept_count) arena = kept[--kept_count];
  atomic_flag_clear_explicit(&kept_lock, memory_order_release);
  return arena;
}

static int keep(void* arena) {
  int done = 0;
  while (atomic_flag_test_and_set_explicit(&kept_lock, memory_order_acquire)) {
  }
  if (kept_count < kKeptArenas) {
    kept[kept_count++] = arena;
    done = 1;
  }
  atomic_flag_clear_explicit(&kept_lock, memory_order_release);
  return done;
}

static int poison_arenas; /* WALLE_VM_POISON=1: a use after free of a returned arena shows as 0xdb bytes */

/* Where no arena fits any more, blocks come one by one (raw_malloc), up to the limit; only what does not fit
 * then is a refusal. */
static void* arena_alloc(void* context, size_t size) {
  (void)context;
  if (!fits(size)) return NULL;
  void* arena = size == kArenaBytes ? take_kept() : NULL;
  if (arena == NULL) {
    arena = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (arena == MAP_FAILED) return NULL;
  }
  count((ptrdiff_t)size);
  return arena;
}

static void arena_free(void* context, void* arena, size_t size) {
  (void)context;
  if (arena == NULL) return;
  count(-(ptrdiff_t)size);
  if (size == kArenaBytes) {
    if (poison_arenas) memset(arena, 0xdb, kArenaBytes);
    if (keep(arena)) return;
  }
  munmap(arena, size);
}

void wvm_install_allocators(void) {
  const char* poison = getenv("WALLE_VM_POISON");
  poison_arenas = poison != NULL && poison[0] == '1';
  PyMemAllocatorEx raw = {NULL, raw_malloc, raw_calloc, raw_realloc, raw_free};
  PyMem_SetAllocator(PYMEM_DOMAIN_RAW, &raw);
}

void wvm_install_arenas(void) {
  PyObjectArenaAllocator arenas = {NULL, arena_alloc, arena_free};
  PyObject_SetArenaAllocator(&arenas);
}
