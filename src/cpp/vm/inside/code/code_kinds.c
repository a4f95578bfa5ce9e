/* The kinds of values: instructions that trust the compiler - that a value is there, is a list, is a cell -
 * are refused unless every path to them keeps that trust. A walk over the code with one set of possible kinds
 * per place of the stack and per variable; where paths meet, the sets are united. What no walk can know (the
 * iterator that a generator expression is given, the exception a handler stores) the interpreter itself looks
 * at, by tools/vm/edits/kinds.py. */
#include "vm/inside/code/code_kinds.h"
#include "vm/inside/code/code_body.h"
#include "vm/inside/run/state.h"

#include <internal/pycore_code.h>
#include <internal/pycore_intrinsics.h>
#include <internal/pycore_opcode_metadata.h>
#include <internal/pycore_opcode_utils.h>
#include <opcode.h>

/* A set of them is what a place may hold. All but kNull are objects. */
typedef uint16_t kind_set;
enum {
  kObject = 1,
  kNull = 2,
  kList = 4,
  kSet = 8,
  kDict = 16,
  kTuple = 32,
  kStr = 64,
  kCode = 128,
  kFunction = 256,
  kCell = 512,
  kLastInstruction = 1024 /* pushed for a handler, which gives it back to RERAISE */
};

/* States are kept where paths meet: 64 MB of them, and a quarter of a billion unions, are more than a
 * thousand times what the largest module of the library needs. */
enum { kMaxStateBytes = 64 << 20, kMaxWork = 1 << 28, kNoState = 0 };

typedef struct {
  code_body* b;
  const code_handler* handlers;
  uint32_t handler_count;
  uint32_t* state_of; /* per unit: number of its state plus one, or kNoState */
  kind_set* states;
  uint8_t* known; /* per state: reached */
  uint8_t* queued;
  size_t width;             /* of a state: the stack, then the variables */
  kind_set *stack, *locals; /* of the instruction that is looked at */
  int32_t depth;
  kind_set nothing;
  uint64_t work;
} walk;

static void wrong(walk* w, const char* what) {
  if (w->b->wrong == NULL) w->b->wrong = what;
}

static void push(walk* w, int kinds) {
  if ((uint32_t)w->depth >= w->b->stack_size) return wrong(w, "the value stack overflows");
  w->stack[w->depth++] = (kind_set)kinds;
}

static kind_set* at_depth(walk* w, int32_t from_top) {
  if (from_top < 1 || from_top > w->depth) {
    wrong(w, "the value stack underflows");
    return &w->nothing;
  }
  return &w->stack[w->depth - from_top];
}

static kind_set pop(walk* w) {
  const kind_set kinds = *at_depth(w, 1);
  if (w->depth > 0) --w->depth;
  return kinds;
}

static void require(walk* w, kind_set kinds, int allowed) {
  if (kinds == 0 || (kinds & ~allowed) != 0) wrong(w, "an instruction meets a value of the wrong kind");
}

static void require_object(walk* w, kind_set kinds) {
  if (kinds == 0 || (kinds & kNull) != 0) wrong(w, "an instruction meets no value where it needs one");
}

static void pop_objects(walk* w, int64_t count) {
  for (int64_t i = 0; i < count && w->b->wrong == NULL; ++i) require_object(w, pop(w));
}

static void load(walk* w, int32_t local) {
  require_object(w, w->locals[local]);
  push(w, w->locals[local]);
}

/* A debugger's view of the frame can put any object into a variable, but neither empty it nor touch a cell.
 */
static void store(walk* w, int32_t local) {
  const kind_set kinds = pop(w);
  w->locals[local] = kinds & ~(kNull | kCell) ? (kind_set)((kinds & (kNull | kCell)) | kObject) : kinds;
}

static void require_cell(walk* w, int32_t local) { require(w, w->locals[local], kCell); }

static void free_variables_become_cells(walk* w) {
  for (uint32_t i = 0; i < w->b->locals; ++i) {
    if (w->b->kinds[i] & CO_FAST_FREE) w->locals[i] = kCell;
  }
}

static void load_constant(walk* w, int32_t number) {
  const uint8_t tag = w->b->constants[number].tag;
  push(w, tag == 'C' ? kCode : tag == '(' ? kTuple : tag == 's' || tag == 'n' ? kStr : kObject);
}

/* Instructions whose operand another instruction must have made just before, with no jump between them. */
static const code_unit* directly_before(const walk* w, uint32_t start) {
  if (w->state_of[start] != kNoState || start == 0) return NULL;
  for (uint32_t at = start; at-- > 0;) {
    if (w->b->units[at].is_start) {
      const code_unit* u = &w->b->units[wvm_past_prefixes(w->b, at)];
      return u->next == start ? u : NULL;
    }
  }
  return NULL;
}

static void keyword_names(walk* w, uint32_t start, int32_t arguments) {
  const code_unit* names = directly_before(w, start);
  const int32_t count =
      names != NULL && names->opcode == LOAD_CONST ? w->b->constants[names->oparg].strings : -1;
  if (count < 0 || count > arguments) wrong(w, "a call's keyword names are not a constant of as many names");
}

static void intrinsic_1(walk* w, uint32_t start, int32_t number) {
  const kind_set operand = pop(w);
  require_object(w, operand);
  switch (number) {
    case INTRINSIC_LIST_TO_TUPLE: require(w, operand, kList); return push(w, kTuple);
    case INTRINSIC_TYPEVAR:
    case INTRINSIC_PARAMSPEC:
    case INTRINSIC_TYPEVARTUPLE: require(w, operand, kStr); break;
    case INTRINSIC_SUBSCRIPT_GENERIC: require(w, operand, kTuple | kObject); break;
    case INTRINSIC_TYPEALIAS: {
      const code_unit* made = directly_before(w, start);
      if (made == NULL || made->opcode != BUILD_TUPLE || made->oparg != 3)
        wrong(w, "an alias of no three parts");
      break;
    }
    default: break;
  }
  push(w, kObject);
}

static void intrinsic_2(walk* w, int32_t number) {
  const kind_set second = pop(w), first = pop(w);
  require_object(w, second);
  require_object(w, first);
  if (number == INTRINSIC_PREP_RERAISE_STAR) require(w, second, kList);
  if (number == INTRINSIC_TYPEVAR_WITH_BOUND || number == INTRINSIC_TYPEVAR_WITH_CONSTRAINTS)
    require(w, first, kStr);
  if (number == INTRINSIC_SET_FUNCTION_TYPE_PARAMS) require(w, first, kFunction);
  push(w, number == INTRINSIC_SET_FUNCTION_TYPE_PARAMS ? kFunction : kObject);
}

/* `added` values go into a collection further down, which stays. */
static void add_to(walk* w, int added, int32_t place, int collection) {
  pop_objects(w, added);
  require(w, *at_depth(w, place), collection);
}

/* What a call finds below its arguments. */
static void pop_callable(walk* w) {
  pop(w); /* self, or nothing */
  require_object(w, pop(w));
}

static void swap(walk* w, int32_t place) {
  kind_set *top = at_depth(w, 1), *other = at_depth(w, place);
  const kind_set kept = *top;
  *top = *other;
  *other = kept;
}

static void as_the_tables_say(walk* w, const code_unit* u) {
  pop_objects(w, _PyOpcode_num_popped(u->opcode, u->oparg));
  for (int i = _PyOpcode_num_pushed(u->opcode, u->oparg); i > 0 && w->b->wrong == NULL; --i) push(w, kObject);
}

static int on_variables(walk* w, const code_unit* u) {
  const int32_t arg = u->oparg;
  switch (u->opcode) {
    case LOAD_CONST: load_constant(w, arg); return 1;
    case LOAD_FAST: load(w, arg); return 1;
    case LOAD_FAST_CHECK:
      w->locals[arg] = w->locals[arg] & ~kNull ? (kind_set)(w->locals[arg] & ~kNull) : (kind_set)kObject;
      load(w, arg);
      return 1;
    case LOAD_FAST_AND_CLEAR:
      push(w, w->locals[arg]);
      w->locals[arg] = kNull;
      return 1;
    case LOAD_FAST_LOAD_FAST:
      load(w, arg >> 4);
      load(w, arg & 15);
      return 1;
    case STORE_FAST: store(w, arg); return 1;
    case STORE_FAST_STORE_FAST:
      store(w, arg >> 4);
      store(w, arg & 15);
      return 1;
    case STORE_FAST_LOAD_FAST:
      store(w, arg >> 4);
      load(w, arg & 15);
      return 1;
    case DELETE_FAST: w->locals[arg] = kNull; return 1;
    case MAKE_CELL: w->locals[arg] = kCell; return 1;
    case COPY_FREE_VARS: free_variables_become_cells(w); return 1;
    case LOAD_DEREF:
    case STORE_DEREF:
    case DELETE_DEREF:
    case LOAD_FROM_DICT_OR_DEREF: require_cell(w, arg); return 0;
    default: return 0;
  }
}

static int on_collections(walk* w, const code_unit* u) {
  switch (u->opcode) {
    case BUILD_LIST:
      pop_objects(w, u->oparg);
      push(w, kList);
      return 1;
    case BUILD_SET:
      pop_objects(w, u->oparg);
      push(w, kSet);
      return 1;
    case BUILD_TUPLE:
      pop_objects(w, u->oparg);
      push(w, kTuple);
      return 1;
    case BUILD_MAP:
      pop_objects(w, 2 * (int64_t)u->oparg);
      push(w, kDict);
      return 1;
    case BUILD_CONST_KEY_MAP:
      require(w, pop(w), kTuple); /* of as many keys: the interpreter looks at that */
      pop_objects(w, u->oparg);
      push(w, kDict);
      return 1;
    case LIST_APPEND:
    case LIST_EXTEND: add_to(w, 1, u->oparg, kList); return 1;
    case SET_ADD:
    case SET_UPDATE: add_to(w, 1, u->oparg, kSet); return 1;
    case DICT_UPDATE: add_to(w, 1, u->oparg, kDict); return 1;
    case MAP_ADD: add_to(w, 2, u->oparg, kDict); return 1;
    case DICT_MERGE:
      add_to(w, 1, u->oparg, kDict);
      require_object(w, *at_depth(w, u->oparg + 3)); /* the callable, for the message of an error */
      return 1;
    default: return 0;
  }
}

static int on_calls(walk* w, const code_unit* u, uint32_t start) {
  switch (u->opcode) {
    case PUSH_NULL: push(w, kNull); return 1;
    case LOAD_GLOBAL:
      push(w, kObject);
      if (u->oparg & 1) push(w, kNull);
      return 1;
    case LOAD_ATTR:
    case LOAD_SUPER_ATTR:
      pop_objects(w, u->opcode == LOAD_ATTR ? 1 : 3);
      push(w, kObject);
      if (u->oparg & 1) push(w, kObject | kNull);
      return 1;
    case CALL_KW:
      keyword_names(w, start, u->oparg);
      pop(w);
      __attribute__((fallthrough)); /* the rest is as for CALL */
    case CALL:
      pop_objects(w, u->oparg);
      pop_callable(w);
      push(w, kObject);
      return 1;
    case CALL_FUNCTION_EX:
      if (u->oparg & 1) require(w, pop(w), kDict);
      pop_objects(w, 1);
      pop_callable(w);
      push(w, kObject);
      return 1;
    case CALL_INTRINSIC_1: intrinsic_1(w, start, u->oparg); return 1;
    case CALL_INTRINSIC_2: intrinsic_2(w, u->oparg); return 1;
    case MAKE_FUNCTION:
      require(w, pop(w), kCode);
      push(w, kFunction);
      return 1;
    case SET_FUNCTION_ATTRIBUTE:
      require(w, pop(w), kFunction);
      pop_objects(w, 1);
      push(w, kFunction);
      return 1;
    default: return 0;
  }
}

/* Those that look at the stack without changing it, and handlers. */
static int on_stack(walk* w, const code_unit* u) {
  switch (u->opcode) {
    case COPY:
      require_object(w, *at_depth(w, u->oparg));
      push(w, *at_depth(w, u->oparg));
      return 1;
    case SWAP: swap(w, u->oparg); return 1;
    case GET_LEN:
    case MATCH_MAPPING:
    case MATCH_SEQUENCE:
      require_object(w, *at_depth(w, 1));
      push(w, kObject);
      return 1;
    case MATCH_KEYS:
      require(w, *at_depth(w, 1), kTuple);
      require_object(w, *at_depth(w, 2));
      push(w, kObject);
      return 1;
    case MATCH_CLASS:
      require(w, pop(w), kTuple);
      pop_objects(w, 2);
      push(w, kObject);
      return 1;
    case WITH_EXCEPT_START:
      require_object(w, *at_depth(w, 1));
      require_object(w, *at_depth(w, 4));
      push(w, kObject);
      return 1;
    case RERAISE:
      require_object(w, *at_depth(w, 1));
      if (u->oparg > 2) wrong(w, "an operand is out of range");
      if (u->oparg != 0) require(w, *at_depth(w, u->oparg + 1), kLastInstruction);
      return 1;
    case YIELD_VALUE:
      /* 1: of an await or a "yield from", whose iterator stays below. */
      if (u->oparg > 1) wrong(w, "an operand is out of range");
      if (u->oparg == 1) require_object(w, *at_depth(w, 2));
      return 0;
    default: return 0;
  }
}

static void apply(walk* w, uint32_t start, const code_unit* u) {
  if (on_variables(w, u) || on_collections(w, u) || on_calls(w, u, start) || on_stack(w, u)) return;
  as_the_tables_say(w, u);
}

/* The state at `target` may be any of what it was and what comes now. */
static void unite(walk* w, uint32_t target, int32_t depth, const kind_set* stack) {
  const uint32_t number = w->state_of[target] - 1;
  kind_set* state = w->states + number * w->width;
  int changed = !w->known[number];
  w->known[number] = 1;
  for (int32_t i = 0; i < depth; ++i) {
    changed |= (stack[i] & ~state[i]) != 0;
    state[i] |= stack[i];
  }
  kind_set* locals = state + w->b->stack_size;
  for (uint32_t i = 0; i < w->b->locals; ++i) {
    changed |= (w->locals[i] & ~locals[i]) != 0;
    locals[i] |= w->locals[i];
  }
  w->work += w->width + 1;
  if (w->work > kMaxWork) wrong(w, "its paths are too many");
  if (!changed || w->queued[number]) return;
  w->queued[number] = 1;
  w->b->todo[w->b->todo_count++] = target;
}

static void enter_handler(walk* w, uint32_t start) {
  const code_handler* h = wvm_handler_of(w->b, w->handlers, w->handler_count, start);
  if (h == NULL) return;
  kind_set* free_places = w->stack + h->depth;
  const kind_set kept[2] = {free_places[0], h->lasti ? free_places[1] : 0};
  free_places[0] = h->lasti ? kLastInstruction : kObject;
  if (h->lasti) free_places[1] = kObject;
  unite(w, h->target, h->depth + h->lasti + 1, w->stack);
  free_places[0] = kept[0];
  if (h->lasti) free_places[1] = kept[1];
}

static uint32_t jump_target(const code_unit* u) {
  return IS_BACKWARDS_JUMP_OPCODE(u->opcode) ? u->next - (uint32_t)u->oparg : u->next + (uint32_t)u->oparg;
}

/* From a place where paths meet to the next one. */
static void follow(walk* w, uint32_t start) {
  const uint32_t number = w->state_of[start] - 1;
  w->queued[number] = 0;
  memcpy(w->stack, w->states + number * w->width, w->width * sizeof(kind_set));
  w->depth = w->b->units[start].depth;
  while (w->b->wrong == NULL) {
    ++w->work;
    enter_handler(w, start);
    const code_unit* u = &w->b->units[wvm_past_prefixes(w->b, start)];
    if (u->opcode == FOR_ITER) require_object(w, *at_depth(w, 1));
    if (u->opcode == FOR_ITER)
      push(w, kObject); /* on both ways */
    else
      apply(w, start, u);
    if (w->b->wrong != NULL) return;
    if (OPCODE_HAS_JUMP(u->opcode)) unite(w, jump_target(u), w->depth, w->stack);
    if (IS_SCOPE_EXIT_OPCODE(u->opcode) || IS_UNCONDITIONAL_JUMP_OPCODE(u->opcode)) return;
    start = u->next;
    if (w->state_of[start] != kNoState) return unite(w, start, w->depth, w->stack);
  }
}

/* Numbers the places where paths meet; how many there are. */
static uint32_t number_states(walk* w) {
  uint32_t count = 0;
  w->state_of[0] = ++count;
  for (uint32_t i = 0; i < w->b->count; ++i) {
    const code_unit* u = &w->b->units[i];
    if (!u->is_start || u->depth == kUnseen) continue;
    u = &w->b->units[wvm_past_prefixes(w->b, i)];
    if (OPCODE_HAS_JUMP(u->opcode) && w->state_of[jump_target(u)] == kNoState)
      w->state_of[jump_target(u)] = ++count;
  }
  for (uint32_t i = 0; i < w->handler_count; ++i) {
    if (w->state_of[w->handlers[i].target] == kNoState) w->state_of[w->handlers[i].target] = ++count;
  }
  return count;
}

static void begin(walk* w) {
  for (uint32_t i = 0; i < w->b->locals; ++i) w->locals[i] = i < w->b->parameters ? kObject : kNull;
  unite(w, 0, 0, w->stack);
}

/* A generator comes to be by its RETURN_GENERATOR, once, before anything else runs; without one, nothing can
 * be yielded. */
static void check_generator(walk* w) {
  int made = 0, prologue = 1;
  for (uint32_t i = 0; i < w->b->count; ++i) {
    if (!w->b->units[i].is_start) continue;
    const uint8_t opcode = w->b->units[wvm_past_prefixes(w->b, i)].opcode;
    if (opcode == RETURN_GENERATOR && (!prologue || w->state_of[i] > 1))
      wrong(w, "a generator is made in the middle of its code");
    made |= opcode == RETURN_GENERATOR;
    prologue &= opcode == COPY_FREE_VARS || opcode == MAKE_CELL;
  }
  if (w->b->is_generator && !made) wrong(w, "a generator that is never made");
}

const char* wvm_kinds_fault(code_body* body, const code_handler* handlers, uint32_t handler_count) {
  walk w = {.b = body, .handlers = handlers, .handler_count = handler_count};
  w.width = (size_t)body->stack_size + body->locals;
  w.state_of = calloc(body->count + 1, sizeof(uint32_t));
  const uint32_t count = w.state_of == NULL ? 0 : number_states(&w);
  if ((uint64_t)count * w.width * sizeof(kind_set) > kMaxStateBytes) wrong(&w, "its paths are too many");
  if (body->wrong == NULL) {
    w.states = calloc((size_t)count * w.width + 1, sizeof(kind_set));
    w.known = calloc(count + 1, 1);
    w.queued = calloc(count + 1, 1);
    w.stack = calloc(w.width + 2, sizeof(kind_set));
  }
  if (body->wrong == NULL && w.states && w.known && w.queued && w.stack) {
    w.locals = w.stack + body->stack_size;
    check_generator(&w);
    body->todo_count = 0;
    begin(&w);
    while (body->todo_count > 0 && body->wrong == NULL) follow(&w, body->todo[--body->todo_count]);
  } else {
    wrong(&w, "no memory");
  }
  free(w.state_of);
  free(w.states);
  free(w.known);
  free(w.queued);
  free(w.stack);
  return body->wrong;
}
