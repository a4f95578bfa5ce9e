#include "store/segment.h"

#include <gtest/gtest.h>

#include "base/crc32c.h"

namespace walle::store {
namespace {

template <class T>
void put(std::string& out, T v) {
  out.append(reinterpret_cast<const char*>(&v), sizeof v);
}

void put_varint(std::string& out, uint64_t v) {
  for (; v >= 0x80; v >>= 7) out.push_back(static_cast<char>(v | 0x80));
  out.push_back(static_cast<char>(v));
}

// A segment of one text column, which names its only word `values` times; checksums as they should be.
std::string repeated_word(size_t word_bytes, uint32_t values) {
  std::string raw;
  put_varint(raw, 1);
  put_varint(raw, word_bytes);
  raw += std::string(word_bytes, 'w') + std::string(values, '\0');
  std::string out = "WSEG0001";
  put(out, uint64_t{1}), put(out, uint64_t{values}), put(out, int64_t{0}), put(out, int64_t{0}),
      put(out, uint32_t{1});
  put(out, base::crc32c(0, out.data(), out.size()));
  std::string head;
  put(head, uint8_t{1}), head += "t";
  put(head, ColumnType::texts), put(head, uint8_t{0}), put(head, values);
  put(head, static_cast<uint32_t>(raw.size())), put(head, static_cast<uint32_t>(raw.size()));
  const uint32_t crc = base::crc32c(base::crc32c(0, head.data(), head.size()), raw.data(), raw.size());
  out += head;
  put(out, crc);
  return out + raw;
}

TEST(SegmentMemory, AWordMayBeNamedAsOftenAsItFits) {
  const auto fine = decode_segment(repeated_word(1000, 100));
  ASSERT_TRUE(fine.ok()) << fine.error().message();
  EXPECT_EQ(fine->columns[0].texts, std::vector<std::string>(100, std::string(1000, 'w')));
  EXPECT_FALSE(decode_segment(repeated_word(100'000'000, 11)).ok());  // 1.1 GB out of 100 MB
}

}  // namespace
}  // namespace walle::store
