/* Code objects to container bytes: code_writer.c writes values, container_writer.c containers of compiled
 * sources, code_copy.c one code object that a task asked for. */
#ifndef WALLE_VM_CODE_WRITER_H
#define WALLE_VM_CODE_WRITER_H

#include "vm/inside/run/state.h"

typedef struct {
  uint8_t* data;
  size_t size, room;
  int failed;
} wvm_buffer;

typedef struct {
  wvm_buffer out;
  PyObject* numbers; /* str -> position in `strings` */
  PyObject* strings;
  int keep_lines;
  const PyCodeObject* inside; /* the function or class around what is written; NULL: directly in the module */
  int is_module;
} wvm_writer;

void wvm_put(wvm_buffer* b, const void* data, size_t size);
void wvm_put_u32(wvm_buffer* b, uint32_t value);
void wvm_put_varint(wvm_buffer* b, uint64_t value);
/* The string's number, or -1 with an exception. */
long wvm_string_number(wvm_writer* w, PyObject* text);
/* -1 with an exception: a value that is no constant. */
int wvm_write_value(wvm_writer* w, PyObject* value);
/* All lengths, then all bytes. */
int wvm_write_strings(const wvm_writer* w, wvm_buffer* table, uint32_t* offsets);

#endif
