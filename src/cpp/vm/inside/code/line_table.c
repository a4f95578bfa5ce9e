/* The line table of a code object (CPython's Objects/locations.md): entries of a head byte, marked by its top
 * bit, and a few bytes that depend on it. CPython walks it in both directions without looking at its bounds,
 * so every entry must be whole, marks must stand at heads and nowhere else, and the entries may not describe
 * more units than there are. */
#include "vm/inside/code/bytes.h"
#include "vm/inside/run/state.h"

#include <cpython/code.h>

enum {
  kMark = 128, /* of a byte: an entry starts here */
  kMore = 64,  /* of a digit: another one follows */
  /* CPython shifts each digit to its place in 32 bits. The sixth is shifted by 30; a seventh would be by 36,
   * which C leaves undefined. */
  kMaxDigits = 6,
  /* A head byte is mark, four bits of form, three of units less one: no entry is of zero units. */
  kFormShift = 3,
  kFormBits = 15,
  kUnitBits = 7,
};

static void skip_plain(wvm_reader* r) {
  if (take_byte(r) & kMark) reader_fail(r, "a line table entry is cut short");
}

/* Six bits a byte, least significant first. */
static void skip_number(wvm_reader* r) {
  for (int digits = 0; digits < kMaxDigits; ++digits) {
    const uint8_t byte = take_byte(r);
    if (byte & kMark) return reader_fail(r, "a line table entry is cut short");
    if (!(byte & kMore)) return;
  }
  reader_fail(r, "a line table number has too many digits");
}

/* What follows a head, by the table in Objects/locations.md: numbers (line deltas, end lines, columns + 1)
 * and plain bytes (columns). */
static void skip_position(wvm_reader* r, int form) {
  int numbers = 0, plain = 0;
  switch (form) {
    case PY_CODE_LOCATION_INFO_NONE: break;
    case PY_CODE_LOCATION_INFO_LONG: numbers = 4; break;
    case PY_CODE_LOCATION_INFO_NO_COLUMNS: numbers = 1; break;
    case PY_CODE_LOCATION_INFO_ONE_LINE0:
    case PY_CODE_LOCATION_INFO_ONE_LINE1:
    case PY_CODE_LOCATION_INFO_ONE_LINE2: plain = 2; break;
    default: plain = 1; /* the short forms 0 to 9: same line, the form holds the column's upper bits */
  }
  while (numbers-- > 0) skip_number(r);
  while (plain-- > 0) skip_plain(r);
}

const char* wvm_line_table_fault(wvm_reader table, uint64_t units) {
  uint64_t described = 0;
  while (reader_left(&table) > 0) {
    const uint8_t head = take_byte(&table);
    if (!(head & kMark)) return "a line table entry has no start mark";
    described += (head & kUnitBits) + 1;
    skip_position(&table, head >> kFormShift & kFormBits);
  }
  if (table.failed != NULL) return table.failed;
  /* Fewer are fine: CPython says "no line" for what the table does not reach. */
  return described <= units ? NULL : "the line table describes more code than there is";
}
