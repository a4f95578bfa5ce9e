#include "store/segment.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "columns.h"

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
  head.put(ColumnType::text);
  head.put(uint8_t{0});
  head.put(values);
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
  EXPECT_EQ(texts_of(fine->columns[0].cells), std::vector<std::string>(100, std::string(1000, 'w')));
  EXPECT_FALSE(decode_segment(repeated_word(100'000'000, 11)).ok());  // 1.1 GB out of 100 MB
}

Segment of_all_types(size_t rows) {
  Segment s{.first_seq = 7, .rows = rows, .min_ts = -1, .max_ts = 1, .columns = {}};
  const auto add = [&](const char* name, ColumnType type, auto&& cell) {
    s.columns.push_back({.name = name, .cells = tensor::Column(type)});
    for (size_t row = 0; row < rows; ++row) EXPECT_TRUE(s.columns.back().cells.push_back(cell(row)));
  };
  const auto some = [](size_t row, Cell cell) { return row % 3 == 1 ? Cell() : cell; };
  const std::string word = "word";
  add("i", ColumnType::integer, [](size_t row) { return Cell::of(row % 2 ? INT64_MIN : INT64_MAX); });
  add("i?", ColumnType::integer, [&](size_t row) { return some(row, Cell::of(static_cast<int64_t>(row))); });
  add("d", ColumnType::real, [](size_t row) { return Cell::of(row % 2 ? -0.0 : std::nan("7")); });
  add("d?", ColumnType::real, [&](size_t row) { return some(row, Cell::of(0.5)); });
  add("b", ColumnType::boolean, [](size_t row) { return Cell::of(row % 2 == 0); });
  add("b?", ColumnType::boolean, [&](size_t row) { return some(row, Cell::of(row % 2 == 0)); });
  add("t?", ColumnType::text, [&](size_t row) { return some(row, Cell::of(word.c_str() + row % 4)); });
  add("y", ColumnType::bytes, [&](size_t) { return Cell::of_bytes({"\0\xff", 2}); });
  add("none", ColumnType::text, [](size_t) { return Cell(); });
  return s;
}

TEST(Segment, ColumnsComeBackWithWhatIsAbsent) {
  for (const size_t rows : {0, 1, 2, 8, 9, 1000}) {
    const Segment given = of_all_types(rows);
    const auto read = decode_segment(encode_segment(given));
    ASSERT_TRUE(read.ok()) << read.error().message();
    ASSERT_EQ(read->columns.size(), given.columns.size());
    for (size_t c = 0; c < given.columns.size(); ++c) {
      const tensor::Column& a = given.columns[c].cells;
      const tensor::Column& b = read->columns[c].cells;
      EXPECT_EQ(read->columns[c].name, given.columns[c].name);
      EXPECT_EQ(b.type(), a.type());
      ASSERT_EQ(b.size(), rows);
      EXPECT_EQ(b.absent(), a.absent());
      for (size_t row = 0; row < rows; ++row) EXPECT_TRUE(identical(a[row], b[row])) << c << " " << row;
    }
  }
}

}  // namespace
}  // namespace walle::store
