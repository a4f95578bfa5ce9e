/* Stack: for the C recursions of CPython that count no levels (an iterator over an iterator over ...): a
 * look at the stack that is left. Included by the files that tools/vm/edits/slots.py and depth.py give
 * such checks. */
#ifndef WALLE_VM_STACK_H
#define WALLE_VM_STACK_H

extern __attribute__((visibility("hidden"))) _Thread_local char* wvm_stack_floor; /* NULL: not known */
__attribute__((visibility("hidden"))) void wvm_stack_error(void);                 /* sets RecursionError */
__attribute__((visibility("hidden"))) int wvm_interrupted(void); /* 1 with an exception set */
/* A step of an iterator that is held meanwhile: its code may make whoever asks let go of it. */
__attribute__((visibility("hidden"))) struct _object* wvm_next(struct _object* iterator);
#define WVM_STACK_LOW() __builtin_expect((char*)__builtin_frame_address(0) < wvm_stack_floor, 0)

#endif
