// Any bytes as a format: the first half says what is asked for, the second is read. Nothing outside is looked
// at, a failure stays, and what was read is written to the same bytes.
#include <memory>

#include "base/bytes.h"

using walle::base::ByteReader;
using walle::base::ByteWriter;

namespace {
void require(bool holds) {
  if (!holds) __builtin_trap();
}

template <class T>
void number(ByteReader& r, ByteWriter& w) {
  const T value = r.get<T>();
  if (r.ok())
    w.put(value);
  else
    require(value == T{});
}

void text(ByteReader& r, ByteWriter& w) {
  const std::string_view value = r.text();
  if (r.ok())
    w.put_text(value);
  else
    require(value.empty());
}

// A count that passed may size an allocation of as many things.
void count(ByteReader& r, ByteWriter& w, size_t least) {
  const uint32_t n = r.count(least);
  require(n * least <= r.left());
  if (r.ok()) w.put_count(n);
}

// May be longer than needed: read again from the shortest form.
void varint(ByteReader& r, ByteWriter& w, std::string_view all) {
  const size_t from = r.offset();
  const uint64_t value = r.varint();
  if (!r.ok()) return require(value == 0);
  ByteWriter shortest;
  shortest.put_varint(value);
  require(shortest.size() <= r.offset() - from);
  ByteReader again(shortest.written());
  require(again.varint() == value && again.done());
  w.put_bytes(all.substr(from, r.offset() - from));
}

void ask(uint8_t what, ByteReader& r, ByteWriter& w, std::string_view all) {
  switch (what % 10) {
    case 0: return number<uint8_t>(r, w);
    case 1: return number<uint16_t>(r, w);
    case 2: return number<int32_t>(r, w);
    case 3: return number<uint64_t>(r, w);
    case 4: return number<int64_t>(r, w);
    case 5: return text(r, w);
    case 6: return count(r, w, 1u + what / 10);
    case 7: return varint(r, w, all);
    case 8: return w.put_bytes(r.bytes(what / 10));
    default:
      if (r.checksum()) w.put_checksum();
  }
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // A copy with no slack: a byte behind the end is seen.
  const size_t asked = size / 2, given = size - asked;
  const auto copy = std::make_unique<char[]>(given);
  if (given > 0) std::memcpy(copy.get(), data + asked, given);
  const std::string_view all(copy.get(), given);
  ByteReader r(all);
  ByteWriter w;
  bool failed = false;
  for (size_t i = 0; i < asked; ++i) {
    ask(data[i], r, w, all);
    require(!failed || !r.ok());
    failed = !r.ok();
    require(r.offset() + r.left() == given);
    require(failed || w.written() == all.substr(0, r.offset()));
  }
  return 0;
}
