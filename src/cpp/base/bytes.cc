#include "base/bytes.h"

#include <limits>

namespace walle::base {

void ByteWriter::put_varint(uint64_t value) {
  for (; value >= 0x80; value >>= 7) out_.push_back(static_cast<char>(value | 0x80));
  out_.push_back(static_cast<char>(value));
}

void ByteWriter::put_count(size_t count) {
  if (count > std::numeric_limits<uint32_t>::max()) ok_ = false;
  put(static_cast<uint32_t>(count));
}

void ByteWriter::put_text(std::string_view text) {
  put_count(text.size());
  out_ += text;
}

void ByteWriter::put_checksum() { put(crc32c(0, out_.data(), out_.size())); }

void ByteWriter::pad_to(size_t size) {
  // Never shorter: padding must not cut what is written.
  if (out_.size() < size) out_.resize(size, '\0');
}

uint64_t ByteReader::varint() {
  uint64_t value = 0;
  // Ten bytes at most: a longer number is damage, and the shift would be undefined.
  for (int shift = 0; shift < 64; shift += 7) {
    const auto byte = get<uint8_t>();
    const uint64_t bits = byte & 0x7fu;
    if (shift == 63 && bits > 1) break;  // the tenth byte has room for one bit
    value |= bits << shift;
    if (!(byte & 0x80)) return ok_ ? value : 0;  // a cut number reads as 0, not as its first digits
  }
  fail();
  return 0;
}

uint32_t ByteReader::count(size_t least) {
  const auto n = get<uint32_t>();
  // By division, which cannot overflow where n * least could.
  if (n <= left() / least) return n;
  fail();
  return 0;
}

uint64_t ByteReader::varint_count(size_t least) {
  const uint64_t n = varint();
  if (n <= left() / least) return n;
  fail();
  return 0;
}

bool ByteReader::expect(std::string_view magic) {
  if (bytes(magic.size()) != magic) fail();
  return ok_;
}

bool ByteReader::checksum() {
  const size_t size = at_;
  if (get<uint32_t>() != crc32c(0, bytes_.data(), size)) fail();
  return ok_;
}

}  // namespace walle::base
