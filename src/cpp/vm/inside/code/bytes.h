/* Bytes: reading numbers out of untrusted bytes: every take checks what is left; after a failure
 * everything reads as zero. The same idea as base/bytes.h, told again because the VM library is C and
 * stands alone. */
#ifndef WALLE_VM_BYTES_H
#define WALLE_VM_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct {
  const uint8_t* at;
  const uint8_t* end;
  const char* failed; /* the first thing that was wrong, NULL while all is well */
} wvm_reader;

static inline void reader_fail(wvm_reader* r, const char* why) {
  if (r->failed == NULL) r->failed = why;
  r->at = r->end;
}

static inline size_t reader_left(const wvm_reader* r) { return (size_t)(r->end - r->at); }

static inline const uint8_t* take_block(wvm_reader* r, size_t size) {
  if (size > reader_left(r)) {
    reader_fail(r, "the data ends early");
    return r->end;
  }
  const uint8_t* block = r->at;
  r->at += size;
  return block;
}

static inline uint8_t take_byte(wvm_reader* r) {
  if (r->at == r->end) {
    reader_fail(r, "the data ends early");
    return 0;
  }
  return *r->at++;
}

static inline uint32_t take_u32(wvm_reader* r) {
  if (reader_left(r) < 4) {
    reader_fail(r, "the data ends early");
    return 0;
  }
  const uint8_t* p = take_block(r, 4);
  return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* LEB128, at most 64 bits. */
static inline uint64_t take_varint64(wvm_reader* r) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const uint8_t byte = take_byte(r);
    value |= (uint64_t)(byte & 0x7f) << shift;
    if (!(byte & 0x80)) return value;
  }
  reader_fail(r, "a number has too many digits");
  return 0;
}

/* A count or index: 31 bits. */
static inline uint32_t take_varint(wvm_reader* r) {
  const uint64_t value = take_varint64(r);
  if (value > INT32_MAX) {
    reader_fail(r, "a number is out of range");
    return 0;
  }
  return (uint32_t)value;
}

/* A count of things that take at least one byte each: never more than the bytes that are left. */
static inline uint32_t take_count(wvm_reader* r) {
  const uint32_t count = take_varint(r);
  if (count > reader_left(r)) {
    reader_fail(r, "a count is larger than the data");
    return 0;
  }
  return count;
}

/* line_table.c: what is wrong with a line table for `units` code units, NULL for nothing. */
const char* wvm_line_table_fault(wvm_reader table, uint64_t units);

#endif
