#include "vm/inside/code/code_body.h"

#include <Python.h>
#include <opcode_ids.h>

uint32_t wvm_past_prefixes(const code_body* b, uint32_t at) {
  while (b->units[at].opcode == EXTENDED_ARG) at = b->units[at].next;
  return at;
}

const code_handler* wvm_handler_of(const code_body* b, const code_handler* handlers, uint32_t count,
                                   uint32_t at) {
  at = wvm_past_prefixes(b, at);
  for (uint32_t low = 0, high = count; low < high;) {
    const uint32_t middle = (low + high) / 2;
    const code_handler* h = &handlers[middle];
    if (at >= h->start && at < h->end) return h;
    if (at < h->start)
      high = middle;
    else
      low = middle + 1;
  }
  return NULL;
}
