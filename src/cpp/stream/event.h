// One event as every part of the stream room sees it, and its record form in the journal.
//
// Record, little-endian: u16 event, u16 page, u8 flags, u8 n, i64 ts, u64 session, u64 page instance, then n contents of
// {u8 field position, u8 type, 8 bytes value | u32 size + bytes}.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stream/catalog.h"

namespace walle::stream {

struct Value {
  bool present = false;
  FieldType type = FieldType::i64;
  union {
    int64_t i;
    double d;
    bool b;
  };
  std::string_view text;  // borrowed from whoever made the value

  Value() : i(0) {}
  static Value of(int64_t v) {
    Value x;
    x.present = true;
    x.i = v;
    return x;
  }
  static Value of(double v) {
    Value x;
    x.present = true;
    x.type = FieldType::f64;
    x.d = v;
    return x;
  }
  static Value of(bool v) {
    Value x;
    x.present = true;
    x.type = FieldType::boolean;
    x.i = 0;
    x.b = v;
    return x;
  }
  static Value of(std::string_view v) {
    Value x;
    x.present = true;
    x.type = FieldType::text;
    x.text = v;
    return x;
  }
};

// The stored time is not the one given: the clock went back, or the page or session had to be repaired.
enum EventFlags : uint8_t { kTimeRepaired = 1, kPageUnpaired = 2, kPageClosedInner = 4, kStateOn = 8 };

struct Event {
  uint64_t seq = 0;
  int64_t ts = 0;              // us since 1970, never less than the previous event's
  uint64_t session = 0;        // seq of the session's first event
  uint64_t page_instance = 0;  // seq of the page's enter event, 0 outside any
  uint16_t event = 0;
  uint16_t page = kNoPage;
  uint8_t flags = 0;
  std::span<const Value> contents;  // by field position of the event's declaration; may be shorter

  const Value* field(const Catalog& catalog, uint16_t id) const {
    const int at = catalog.field_position(event, id);
    if (at < 0 || static_cast<size_t>(at) >= contents.size() || !contents[static_cast<size_t>(at)].present) return nullptr;
    return &contents[static_cast<size_t>(at)];
  }
};

size_t record_size(const Event& event);
void write_record(const Event& event, std::byte* to);  // record_size(event) bytes

// Decodes what write_record wrote. `values` is the storage of the contents; texts borrow from `bytes`.
Result<Event> read_record(std::span<const std::byte> bytes, const Catalog& catalog, std::vector<Value>& values);

// The contents against the declaration: known positions, right types, texts within the limit, finite numbers.
Status check_contents(const Catalog& catalog, uint16_t event, std::span<const Value> contents);

}  // namespace walle::stream
