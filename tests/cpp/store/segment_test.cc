#include "store/segment.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "base/crc32c.h"

namespace walle::store {
namespace {

// A segment of one text column, which names its only word `values` times; checksums as they should be.
std::string repeated_word(size_t word_bytes, uint32_t values) {
  base::ByteWriter raw;
  raw.put_varint(1);
  raw.put_varint(word_bytes);
  raw.put_bytes(std::string(word_bytes, 'w') + std::string(values, '\0'));
  base::ByteWriter out;
  out.put_bytes("WSEG0001");
  out.put(uint64_t{1});
  out.put(uint64_t{values});
  out.put(int64_t{0});
  out.put(int64_t{0});
  out.put_count(1);
  out.put_checksum();
  base::ByteWriter head;
  head.put(uint8_t{1});
  head.put_bytes("t");
  head.put(ColumnType::texts);
  head.put(uint8_t{0});
  head.put(values);
  head.put_count(raw.size());
  head.put_count(raw.size());
  const uint32_t crc =
      base::crc32c(base::crc32c(0, head.written().data(), head.size()), raw.written().data(), raw.size());
  out.put_bytes(head.written());
  out.put(crc);
  out.put_bytes(raw.written());
  return out.take();
}

TEST(SegmentMemory, AWordMayBeNamedAsOftenAsItFits) {
  const auto fine = decode_segment(repeated_word(1000, 100));
  ASSERT_TRUE(fine.ok()) << fine.error().message();
  EXPECT_EQ(fine->columns[0].texts, std::vector<std::string>(100, std::string(1000, 'w')));
  EXPECT_FALSE(decode_segment(repeated_word(100'000'000, 11)).ok());  // 1.1 GB out of 100 MB
}

}  // namespace
}  // namespace walle::store
