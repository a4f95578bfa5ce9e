/* Memory: what an isolate's heap may take. */
#ifndef WALLE_VM_MEMORY_H
#define WALLE_VM_MEMORY_H

#include "vm/inside/run/state.h"

/* Counts native memory against the heap limit; -1 with MemoryError set. Where it may, it collects garbage
 * first: that runs finalisers of the task, so nothing half made may be in reach. */
int wvm_charge(size_t bytes, int may_collect);
int wvm_make_room(size_t bytes); /* -1 with MemoryError set where so much would not fit */
void wvm_collect_garbage(void);
void wvm_discharge(size_t bytes);
void wvm_install_allocators(void);
void wvm_install_arenas(void);

#endif
