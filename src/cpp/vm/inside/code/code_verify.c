/* The structural verifier: walks a module's bytes without building any Python object and refuses what could
 * not have come out of the compiler. Checked per code object: tags, counts and string numbers; opcodes of the
 * base set only; operand indices; jump targets on instruction boundaries; the value stack, at every
 * instruction reachable, between zero and the declared size and equal on every path; the exception table; the
 * line table (line_table.c). The depth rules are those of CPython's flowgraph.c, taken from CPython's own
 * opcode tables (pycore_opcode_metadata.h), so they change with them.
 *
 * The kinds of values that meet the instructions are code_kinds.c's. Bytecode that passes can still be
 * hostile in what it does; only signed bundles are loaded. */
#include "vm/inside/code/bundle.h"
#include "vm/inside/code/bytes.h"
#include "vm/inside/code/code_body.h"
#include "vm/inside/code/code_kinds.h"

#include <internal/pycore_code.h>
#include <internal/pycore_intrinsics.h>
#include <internal/pycore_opcode_metadata.h>
#include <internal/pycore_opcode_utils.h>
#include <opcode.h>

/* Far above what the compiler makes of sources that anybody writes, and low enough that the walk's own
 * tables, some 20 bytes per code unit, and its recursion stay small. */
enum { kMaxNesting = 32, kMaxCode = 1 << 22, kMaxStack = 1 << 16, kMaxLocals = 1 << 16 };
/* Of all modules together: objects that loading makes, bytes of the strings among them. A code object counts
 * as a dozen. */
enum { kMaxObjects = 1 << 20, kMaxStringBytes = 64 << 20, kObjectsPerCode = 12 };
/* Members of one frozenset whose hashes anybody can make equal: each is compared with each, so that twice as
 * many take four times as long.
 */
enum { kMaxCollidable = 1 << 12 };

typedef struct {
  wvm_reader r;
  const wvm_bundle* bundle;
  wvm_weight* weight;
} checker;

/* Where a value stands. Code and frozensets stand directly among the constants of code, as the compiler puts
 * them: comparing code inside tuples inside code takes time exponential in the nesting. */
typedef enum { kConstant, kInside } position;

static void check_value(checker* c, int nesting, position where);

static void weigh(checker* c, uint64_t objects, uint64_t string_bytes) {
  c->weight->objects += objects;
  c->weight->string_bytes += string_bytes;
  if (c->weight->objects > kMaxObjects)
    reader_fail(&c->r, "too many constants and names, over a million: tables belong into a file of the task");
  if (c->weight->string_bytes > kMaxStringBytes)
    reader_fail(
        &c->r,
        "the names and constants are too long together, over 64 MB: tables belong into a file of the task");
}

static void check_string_number(checker* c, uint32_t number) {
  if (number >= c->bundle->string_count) return reader_fail(&c->r, "a string number is out of range");
  weigh(c, 1,
        c->bundle->string_offsets[number + 1] -
            c->bundle->string_offsets[number]); /* read anew wherever it is named */
}

static void check_string(checker* c) { check_string_number(c, take_varint(&c->r)); }

/* 0: none, otherwise a string's number plus one. */
static void check_optional_string(checker* c) {
  const uint32_t number = take_varint(&c->r);
  if (number != 0) check_string_number(c, number - 1);
}

static void wrong(code_body* b, const char* what) {
  if (b->wrong == NULL) b->wrong = what;
}

static int is_base_opcode(int opcode) {
  if (opcode == CACHE || opcode == RESERVED || opcode == INTERPRETER_EXIT || opcode == EXIT_INIT_CHECK ||
      opcode == ENTER_EXECUTOR) {
    return 0;
  }
  return opcode < MIN_INSTRUMENTED_OPCODE && _PyOpcode_Deopt[opcode] == opcode;
}

/* Places every instruction at the unit where it will stand once the caches are back, prefixes folded into the
 * operand. */
static void lay_out(code_body* b, const uint8_t* packed, uint32_t size) {
  uint32_t at = 0;
  uint64_t prefix = 0;
  uint32_t start = 0;
  for (uint32_t i = 0; i < size && b->wrong == NULL; i += 2) {
    const uint8_t opcode = packed[i];
    if (!is_base_opcode(opcode)) return wrong(b, "an opcode that the compiler does not emit");
    const uint64_t oparg = prefix << 8 | packed[i + 1];
    if (oparg > INT32_MAX) return wrong(b, "an operand is out of range");
    b->units[at] = (code_unit){opcode, prefix == 0 && start == at, (int32_t)oparg, kUnseen,
                               at + 1 + _PyOpcode_Caches[opcode]};
    if (opcode == EXTENDED_ARG) {
      if (oparg == 0) return wrong(b, "an empty operand prefix");
      prefix = oparg;
      b->units[at].is_start = start == at;
    } else {
      prefix = 0;
    }
    at = b->units[at].next;
    if (opcode != EXTENDED_ARG) start = at;
  }
  if (prefix != 0) wrong(b, "the code ends inside an instruction");
}

static int local_ok(const code_body* b, int32_t index) { return index >= 0 && (uint32_t)index < b->locals; }

static int cell_ok(const code_body* b, int32_t index) {
  return local_ok(b, index) && (b->kinds[index] & (CO_FAST_CELL | CO_FAST_FREE)) != 0;
}

static int name_index(int opcode, int32_t oparg) {
  if (opcode == LOAD_GLOBAL || opcode == LOAD_ATTR) return oparg >> 1;
  return opcode == LOAD_SUPER_ATTR ? oparg >> 2 : oparg;
}

static int operand_ok(const code_body* b, int opcode, int32_t oparg) {
  if (OPCODE_HAS_CONST(opcode) && (uint32_t)oparg >= b->consts) return 0;
  if (OPCODE_HAS_NAME(opcode) && (uint32_t)name_index(opcode, oparg) >= b->names) return 0;
  switch (opcode) {
    case LOAD_FAST_LOAD_FAST:
    case STORE_FAST_STORE_FAST:
    case STORE_FAST_LOAD_FAST: return local_ok(b, oparg >> 4) && local_ok(b, oparg & 15);
    case COPY_FREE_VARS: return (uint32_t)oparg == b->free_count;
    case BINARY_OP: return oparg <= NB_INPLACE_XOR;
    case COMPARE_OP: return oparg >> 5 <= Py_GE;
    case CALL_INTRINSIC_1: return oparg > 0 && oparg <= MAX_INTRINSIC_1;
    case CALL_INTRINSIC_2: return oparg > 0 && oparg <= MAX_INTRINSIC_2;
    case CONVERT_VALUE: return oparg >= FVC_STR && oparg <= FVC_ASCII;
    case RAISE_VARARGS: return oparg <= 2;
    case BUILD_SLICE: return oparg == 2 || oparg == 3;
    case SET_FUNCTION_ATTRIBUTE: return oparg == 1 || oparg == 2 || oparg == 4 || oparg == 8;
    case SWAP:
    case COPY: return oparg >= 1;
    case RETURN_GENERATOR:
    case YIELD_VALUE: return b->is_generator;
    default: break;
  }
  if (OPCODE_HAS_FREE(opcode)) return cell_ok(b, oparg);
  return !OPCODE_HAS_LOCAL(opcode) || local_ok(b, oparg);
}

static void reach(code_body* b, int64_t target, int32_t depth) {
  if (target < 0 || target >= b->count || !b->units[target].is_start)
    return wrong(b, "a jump does not end on an instruction");
  if (depth < 0 || (uint32_t)depth > b->stack_size) return wrong(b, "the value stack leaves its bounds");
  code_unit* u = &b->units[target];
  if (u->depth == kUnseen) {
    u->depth = depth;
    b->todo[b->todo_count++] = (uint32_t)target;
  } else if (u->depth != depth) {
    wrong(b, "two paths reach an instruction with different stacks");
  }
}

static void follow_jump(code_body* b, const code_unit* u, int32_t depth, int32_t after) {
  const int backwards = IS_BACKWARDS_JUMP_OPCODE(u->opcode);
  const int64_t target = backwards ? (int64_t)u->next - u->oparg : (int64_t)u->next + u->oparg;
  if (u->opcode == FOR_ITER) {
    /* An exhausted iterator skips the two instructions at the target; a generator arrives with its last
     * value. */
    if (target + 1 >= b->count || b->units[target].opcode != END_FOR ||
        b->units[target + 1].opcode != POP_TOP) {
      return wrong(b, "a loop does not end with its clean-up");
    }
    return reach(b, target, depth + 1);
  }
  reach(b, target, after);
}

static void step(code_body* b, uint32_t start) {
  const int32_t depth = b->units[start].depth;
  const uint32_t at = wvm_past_prefixes(b, start);
  const code_unit* u = &b->units[at];
  if (!operand_ok(b, u->opcode, u->oparg)) return wrong(b, "an operand is out of range");
  const int64_t popped = _PyOpcode_num_popped(u->opcode, u->oparg),
                pushed = _PyOpcode_num_pushed(u->opcode, u->oparg);
  if (popped < 0 || pushed < 0 || popped > depth) return wrong(b, "the value stack underflows");
  if (depth - popped + pushed > b->stack_size) return wrong(b, "the value stack overflows");
  const int32_t after = (int32_t)(depth - popped + pushed);
  if (OPCODE_HAS_JUMP(u->opcode)) follow_jump(b, u, depth, after);
  if (IS_SCOPE_EXIT_OPCODE(u->opcode) || IS_UNCONDITIONAL_JUMP_OPCODE(u->opcode)) return;
  if (u->next >= b->count) return wrong(b, "the code runs past its end");
  reach(b, u->next, after);
}

/* Six bits a byte, most significant first, bit 6: more follows. Bit 7 marks the start of an entry; CPython's
 * search goes by it, so it must not stand anywhere else. */
static uint32_t take_table_number(wvm_reader* r, int starts_entry) {
  uint64_t value = 0;
  uint8_t byte;
  do {
    byte = take_byte(r);
    if (((byte & 128) != 0) != starts_entry) reader_fail(r, "an exception table's start marks are wrong");
    starts_entry = 0;
    value = value << 6 | (byte & 63);
    if (value > INT32_MAX) reader_fail(r, "an exception table number is out of range");
  } while ((byte & 64) && r->failed == NULL);
  return (uint32_t)value;
}

static uint32_t read_handlers(code_body* b, wvm_reader table, code_handler* out) {
  uint32_t count = 0, last = 0;
  while (reader_left(&table) > 0) {
    code_handler* h = &out[count++];
    h->start = take_table_number(&table, 1);
    h->end = h->start + take_table_number(&table, 0);
    h->target = take_table_number(&table, 0);
    const uint32_t depth = take_table_number(&table, 0);
    h->depth = (int32_t)(depth >> 1);
    h->lasti = (int)(depth & 1);
    if (table.failed) break;
    if (h->start < last || h->end <= h->start || h->end > b->count || h->target >= b->count)
      reader_fail(&table, "an exception range is out of bounds");
    last = h->end;
  }
  if (table.failed) wrong(b, table.failed);
  return count;
}

/* Handlers become reachable when an instruction they cover is: runs until nothing new is found. */
static void flow(code_body* b, const code_handler* handlers, uint32_t handler_count) {
  reach(b, 0, 0);
  uint8_t* entered = calloc(handler_count + 1, 1);
  if (entered == NULL) return wrong(b, "no memory");
  while (b->todo_count > 0 && b->wrong == NULL) {
    const uint32_t at = b->todo[--b->todo_count];
    const code_handler* h = wvm_handler_of(b, handlers, handler_count, at);
    if (h != NULL) {
      if (b->units[at].depth < h->depth) wrong(b, "a handler expects more values than there are");
      if (!entered[h - handlers]) reach(b, h->target, h->depth + h->lasti + 1);
      entered[h - handlers] = 1;
    }
    step(b, at);
  }
  free(entered);
}

static const char* check_body(code_body* b, const uint8_t* packed, uint32_t size, wvm_reader table) {
  uint64_t units = 0;
  for (uint32_t i = 0; i < size; i += 2) units += 1u + _PyOpcode_Caches[packed[i]];
  if (size == 0 || size % 2 || units > kMaxCode)
    return "a code object has no instructions, half of one or too many";
  b->count = (uint32_t)units;
  b->units = calloc(b->count, sizeof(code_unit));
  b->todo = calloc(b->count, sizeof(uint32_t));
  code_handler* handlers = calloc(reader_left(&table) + 1, sizeof(code_handler));
  if (b->units && b->todo && handlers) {
    lay_out(b, packed, size);
    const uint32_t handler_count = b->wrong ? 0 : read_handlers(b, table, handlers);
    if (b->wrong == NULL) flow(b, handlers, handler_count);
    if (b->wrong == NULL) wvm_kinds_fault(b, handlers, handler_count);
  } else {
    wrong(b, "no memory");
  }
  free(b->units);
  free(b->todo);
  free(handlers);
  return b->wrong;
}

static uint32_t check_values(checker* c, int nesting, position where) {
  const uint32_t count = take_count(&c->r);
  for (uint32_t i = 0; i < count && c->r.failed == NULL; ++i) check_value(c, nesting, where);
  return count;
}

/* Of a tuple that was checked: how many texts it is made of, -1 if of others, too. */
static int32_t count_strings(wvm_reader tuple) {
  const uint32_t count = take_count(&tuple);
  for (uint32_t i = 0; i < count; ++i) {
    const uint8_t tag = take_byte(&tuple);
    if (tag != 's' && tag != 'n') return -1;
    take_varint(&tuple);
  }
  return (int32_t)count;
}

/* The caller's to free, if there are any. */
static code_constant* check_constants(checker* c, int nesting, uint32_t* count) {
  *count = take_count(&c->r);
  code_constant* made = calloc(*count + 1, sizeof(code_constant));
  if (made == NULL) reader_fail(&c->r, "no memory");
  for (uint32_t i = 0; i < *count && c->r.failed == NULL; ++i) {
    const wvm_reader before = c->r;
    check_value(c, nesting, kConstant);
    if (c->r.failed != NULL) break;
    made[i].tag = *before.at;
    made[i].strings = made[i].tag == '(' ? count_strings((wvm_reader){before.at + 1, before.end, NULL}) : -1;
  }
  return made;
}

static void check_frozenset(checker* c, int nesting) {
  const uint32_t count = take_count(&c->r);
  uint32_t collidable = 0;
  for (uint32_t i = 0; i < count && c->r.failed == NULL; ++i) {
    if (reader_left(&c->r) > 0) collidable += *c->r.at == '(' || *c->r.at == 'I' || *c->r.at == 'c';
    if (collidable > kMaxCollidable) return reader_fail(&c->r, "a frozenset of too many tuples");
    check_value(c, nesting, kInside);
  }
}

static uint32_t check_names(checker* c) {
  const uint32_t count = take_count(&c->r);
  for (uint32_t i = 0; i < count && c->r.failed == NULL; ++i) check_string(c);
  return count;
}

static wvm_reader take_region(checker* c) {
  const uint32_t size = take_count(&c->r);
  const uint8_t* block = take_block(&c->r, size);
  return (wvm_reader){block, c->r.failed ? block : block + size, NULL};
}

static void check_code_with(checker* c, int nesting, code_body* b, code_constant** constants) {
  weigh(c, kObjectsPerCode, 0);
  const uint32_t args = take_varint(&c->r), positional = take_varint(&c->r), keyword = take_varint(&c->r);
  b->stack_size = take_varint(&c->r);
  const uint32_t flags = take_varint(&c->r);
  take_varint(&c->r); /* first line */
  check_string(c);
  check_optional_string(c);
  const wvm_reader code = take_region(c);
  b->constants = *constants = check_constants(c, nesting + 1, &b->consts);
  b->names = check_names(c);
  b->locals = check_names(c);
  b->kinds = take_block(&c->r, b->locals);
  const wvm_reader lines = take_region(c), table = take_region(c);
  if (c->r.failed) return;
  uint32_t plain = 0;
  for (uint32_t i = 0; i < b->locals; ++i) {
    const uint8_t kind = b->kinds[i] & ~CO_FAST_HIDDEN;
    /* CPython counts a free variable that is also a local or a cell as the latter, and then writes it among
     * the free ones. */
    if (kind != CO_FAST_LOCAL && kind != CO_FAST_CELL && kind != CO_FAST_FREE &&
        kind != (CO_FAST_LOCAL | CO_FAST_CELL)) {
      return reader_fail(&c->r, "a variable of no kind");
    }
    plain += (kind & CO_FAST_LOCAL) != 0;
    b->free_count += (kind & CO_FAST_FREE) != 0;
  }
  const uint64_t parameters = (uint64_t)args + keyword + !!(flags & CO_VARARGS) + !!(flags & CO_VARKEYWORDS);
  if (positional > args || parameters > plain || b->stack_size > kMaxStack || b->locals > kMaxLocals) {
    return reader_fail(&c->r, "a code object's sizes contradict each other");
  }
  b->parameters = (uint32_t)parameters;
  b->is_generator = (flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) != 0;
  const char* what = check_body(b, code.at, (uint32_t)(code.end - code.at), table);
  if (what == NULL) what = wvm_line_table_fault(lines, b->count);
  if (what != NULL) reader_fail(&c->r, what);
}

static void check_code(checker* c, int nesting) {
  code_body b = {0};
  code_constant* constants = NULL;
  check_code_with(c, nesting, &b, &constants);
  free(constants);
}

static void check_value(checker* c, int nesting, position where) {
  if (nesting > kMaxNesting) return reader_fail(&c->r, "values nest too deep");
  weigh(c, 1, 0);
  const uint8_t tag = take_byte(&c->r);
  if (where == kInside && (tag == 'C' || tag == '<'))
    return reader_fail(&c->r, "code or a frozenset inside another constant");
  switch (tag) {
    case 'N':
    case 'T':
    case 'F':
    case 'E': return;
    case 'i': take_varint64(&c->r); return;
    case 'd': take_block(&c->r, 8); return;
    case 'c': take_block(&c->r, 16); return;
    case 's':
    case 'n': check_string(c); return;
    case 'I':
    case 'b': take_region(c); return;
    case '(': check_values(c, nesting + 1, kInside); return;
    case '<': check_frozenset(c, nesting + 1); return;
    case 'C': check_code(c, nesting); return;
    default: reader_fail(&c->r, "an unknown value tag");
  }
}

int wvm_verify_module(const wvm_bundle* bundle, const uint8_t* data, size_t size, wvm_weight* weight,
                      char* error, size_t error_size) {
  checker c = {{data, data + size, NULL}, bundle, weight};
  if (size == 0 || *data != 'C')
    reader_fail(&c.r, "a module is not code");
  else
    check_value(&c, 0, kConstant);
  if (c.r.failed == NULL && c.r.at != c.r.end) reader_fail(&c.r, "bytes follow the module's code");
  if (c.r.failed == NULL) return 0;
  snprintf(error, error_size, "%s", c.r.failed);
  return -1;
}
