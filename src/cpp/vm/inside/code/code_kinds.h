/* Kinds: what the values are that meet an instruction, lists, cells or nothing at all. */
#ifndef WALLE_VM_CODE_KINDS_H
#define WALLE_VM_CODE_KINDS_H

#include "vm/inside/code/code_body.h"

/* What is wrong with the kinds of values that meet its instructions, NULL for nothing. Depths are known. */
const char* wvm_kinds_fault(code_body* body, const code_handler* handlers, uint32_t handler_count);

#endif
