/* Code body: what the verifier's steps know of one code object: code_verify.c lays it out and walks
 * depths, code_kinds.c walks kinds. */
#ifndef WALLE_VM_CODE_BODY_H
#define WALLE_VM_CODE_BODY_H

#include <stdint.h>

enum { kUnseen = -1 };

typedef struct {
  uint8_t opcode, is_start;
  int32_t oparg, depth; /* depth before the instruction, kUnseen until reached */
  uint32_t next;        /* index of the following instruction's unit */
} code_unit;

typedef struct {
  uint8_t tag;     /* as the container names it: 'C' code, 's' and 'n' str, '(' tuple ... */
  int32_t strings; /* of a tuple of nothing but str: how many; otherwise -1 */
} code_constant;

typedef struct {
  code_unit* units;
  uint32_t count; /* code units, caches included */
  uint32_t* todo; /* instructions whose depth is known but whose successors are not */
  uint32_t todo_count;
  uint32_t stack_size, consts, names, locals, parameters, free_count;
  const uint8_t* kinds;
  const code_constant* constants;
  int is_generator;
  const char* wrong;
} code_body;

typedef struct {
  uint32_t start, end, target;
  int32_t depth;
  int lasti;
} code_handler;

/* The instruction at `at` after its prefixes. */
uint32_t wvm_past_prefixes(const code_body* body, uint32_t at);
/* The one that covers the instruction, or NULL. */
const code_handler* wvm_handler_of(const code_body* body, const code_handler* handlers, uint32_t count,
                                   uint32_t at);

#endif
