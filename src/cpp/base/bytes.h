// Numbers and text as bytes and back: the one way in which files and messages of this runtime are written and
// read. Their layouts are in docs/reference/formats/.
//
// Little-endian always, whatever the machine, so that a file from a device is a file on a server. A reader is
// handed bytes that anybody may have made: it never looks outside them, and after its first failure it gives
// zeros and empty texts until somebody asks ok(). A format is read straight through and asked once. Whoever
// allocates, loops or indexes by a number asks first: count() checks one against the bytes that are there.
//
// Neither owns what it reads: texts borrow from the bytes given. Not synchronised.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/crc32c.h"

namespace walle::base {

// What has a fixed number of bytes in a file. Not bool, of which a file may hold 2.
template <class T>
concept FixedWidth = (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) || std::is_enum_v<T>;

template <class T>
struct Underlying {
  using Type = T;
};
template <class T>
  requires std::is_enum_v<T>
struct Underlying<T> {
  using Type = std::underlying_type_t<T>;
};
// The number that stands for it.
template <class T>
using UnderlyingOf = typename Underlying<T>::Type;

template <size_t bytes>
using UnsignedOf = std::conditional_t<
    bytes == 1, uint8_t,
    std::conditional_t<bytes == 2, uint16_t, std::conditional_t<bytes == 4, uint32_t, uint64_t>>>;

// The word whose bytes in memory are the little-endian bytes of `value`; its own inverse.
template <class Word>
constexpr Word little_endian(Word value) {
  static_assert(std::is_unsigned_v<Word>);
  if constexpr (std::endian::native == std::endian::little || sizeof(Word) == 1) {
    return value;
  } else {
    Word out = 0;
    for (size_t i = 0; i < sizeof(Word); ++i) {
      out = static_cast<Word>(out << 8 | (value & 0xff));
      value = static_cast<Word>(value >> 8);
    }
    return out;
  }
}

// One number at `from` or `to`, which need no alignment. For places that are written again and again (the
// header of a ring); what is written once from front to back goes through a writer.
template <FixedWidth T>
T load_le(const void* from) {
  UnsignedOf<sizeof(T)> word;
  std::memcpy(&word, from, sizeof word);
  return std::bit_cast<T>(little_endian(word));
}
template <FixedWidth T>
void store_le(void* to, T value) {
  const auto word = little_endian(std::bit_cast<UnsignedOf<sizeof(T)>>(value));
  std::memcpy(to, &word, sizeof word);
}

// The same inside `bytes`. Precondition: sizeof(T) bytes lie behind `at`.
template <FixedWidth T>
T load_le(std::span<const std::byte> bytes, size_t at) {
  return load_le<T>(bytes.data() + at);
}
template <FixedWidth T>
void store_le(std::span<std::byte> bytes, size_t at, T value) {
  store_le(bytes.data() + at, value);
}

// Bytes as text: std::string is what holds them, because files, messages and Python's bytes all become one
// anyway.
inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Appends to a string of its own.
class ByteWriter {
 public:
  template <FixedWidth T>
  void put(T value) {
    char bytes[sizeof(T)];
    store_le(bytes, value);
    out_.append(bytes, sizeof bytes);
  }
  // LEB128: seven bits a byte, lowest first, the top bit set on all but the last.
  void put_varint(uint64_t value);
  // As u32. A larger one cannot be said: ok() is false from then on.
  void put_count(size_t count);
  void put_bytes(std::string_view bytes) { out_ += bytes; }
  // u32 size, then the bytes.
  void put_text(std::string_view text);
  // The CRC-32C of everything written so far.
  void put_checksum();
  // Zeros up to `size` bytes in all.
  void pad_to(size_t size);
  void reserve(size_t bytes) { out_.reserve(bytes); }

  bool ok() const { return ok_; }
  size_t size() const { return out_.size(); }
  std::string_view written() const { return out_; }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
  bool ok_ = true;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(as_text(bytes)) {}

  template <FixedWidth T>
    requires(!std::is_enum_v<T>)  // checked() reads an enumerator
  T get() {
    if (left() < sizeof(T)) {
      fail();
      return T{};
    }
    const T value = load_le<T>(bytes_.data() + at_);
    at_ += sizeof(T);
    return value;
  }
  // A number or enumerator from `least` to `most`; any other fails the reader. What it gives lies between
  // them, read or not.
  template <FixedWidth T>
  T checked(T least, T most) {
    using Number = UnderlyingOf<T>;
    const auto value = get<Number>();
    if (ok_ && value >= static_cast<Number>(least) && value <= static_cast<Number>(most))
      return static_cast<T>(value);
    fail();
    return least;
  }
  bool flag() { return checked<uint8_t>(0, 1) != 0; }
  // What was read must be `good`, too.
  void check(bool good) {
    if (!good) fail();
  }
  // At most 64 bits; longer forms than needed are read too.
  uint64_t varint();
  // A u32 count of things that take at least `least` bytes each: never more than the bytes that are left can
  // hold, so it may size an allocation. Precondition: least > 0.
  uint32_t count(size_t least);
  // The same for a count written as a varint.
  uint64_t varint_count(size_t least);
  std::string_view bytes(uint64_t size) {
    if (size > left()) {
      fail();
      return {};
    }
    const std::string_view out = bytes_.substr(at_, size);
    at_ += size;
    return out;
  }
  // u32 size, then the bytes.
  std::string_view text() { return bytes(get<uint32_t>()); }
  // All that is left.
  std::string_view rest() { return bytes(left()); }
  // The next bytes must be these: a magic number.
  bool expect(std::string_view magic);
  // The next u32 must be the CRC-32C of everything before it.
  bool checksum();

  void fail() {
    ok_ = false;
    at_ = bytes_.size();
  }
  bool ok() const { return ok_; }
  // Read without a failure, to the last byte.
  bool done() const { return ok_ && left() == 0; }
  size_t left() const { return bytes_.size() - at_; }
  size_t offset() const { return at_; }  // the size of the bytes after a failure

 private:
  std::string_view bytes_;
  size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace walle::base
