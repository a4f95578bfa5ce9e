#include "base/bytes.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace walle::base {
namespace {

enum class Kind : uint8_t { first, second };

TEST(Bytes, AreLittleEndian) {
  ByteWriter w;
  w.put(uint16_t{0x0102});
  w.put(uint32_t{0x03040506});
  w.put(int64_t{-2});
  w.put(1.0f);
  w.put(-0.5);
  w.put(Kind::second);
  w.put_varint(300);
  w.put_text("ab");
  const std::string expected(
      "\x02\x01"
      "\x06\x05\x04\x03"
      "\xfe\xff\xff\xff\xff\xff\xff\xff"
      "\x00\x00\x80\x3f"
      "\x00\x00\x00\x00\x00\x00\xe0\xbf"
      "\x01"
      "\xac\x02"
      "\x02\x00\x00\x00"
      "ab",
      35);
  EXPECT_EQ(w.written(), expected);
  EXPECT_TRUE(w.ok());

  ByteReader r(w.written());
  EXPECT_EQ(r.get<uint16_t>(), 0x0102);
  EXPECT_EQ(r.get<uint32_t>(), 0x03040506u);
  EXPECT_EQ(r.get<int64_t>(), -2);
  EXPECT_EQ(r.get<float>(), 1.0f);
  EXPECT_EQ(r.get<double>(), -0.5);
  EXPECT_EQ(r.get<uint8_t>(), 1);
  EXPECT_EQ(r.varint(), 300u);
  EXPECT_FALSE(r.done());
  EXPECT_EQ(r.text(), "ab");
  EXPECT_TRUE(r.done());
}

// What a machine of the other byte order would do, computed on this one.
TEST(Bytes, SwappingIsItsOwnInverse) {
  for (const uint64_t word : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}, uint64_t{0x0102030405060708}})
    EXPECT_EQ(little_endian(little_endian(word)), word);
  std::byte place[8];
  store_le(place, uint64_t{0x0102030405060708});
  EXPECT_EQ(place[0], std::byte{8});
  EXPECT_EQ(place[7], std::byte{1});
  EXPECT_EQ(load_le<uint64_t>(place), 0x0102030405060708u);
}

TEST(Bytes, AReaderStaysFailed) {
  ByteReader r("\x01\x02\x03");
  EXPECT_EQ(r.get<uint32_t>(), 0u);
  EXPECT_FALSE(r.ok());
  EXPECT_EQ(r.get<uint8_t>(), 0);  // though there is a byte
  EXPECT_EQ(r.bytes(0), "");
  EXPECT_EQ(r.left(), 0u);
  EXPECT_FALSE(r.ok());
  EXPECT_FALSE(r.done());
}

TEST(Bytes, AFailureAtTheEndIsNotDone) {
  ByteReader r("");
  EXPECT_TRUE(r.done());
  r.get<uint8_t>();
  EXPECT_FALSE(r.done());
}

TEST(Bytes, CountsAreBoundedByWhatIsLeft) {
  const auto counted = [](uint32_t n, size_t behind, size_t least) {
    ByteWriter w;
    w.put(n);
    w.pad_to(4 + behind);
    ByteReader r(w.written());
    const uint32_t got = r.count(least);
    EXPECT_EQ(got, r.ok() ? n : 0);
    return r.ok();
  };
  EXPECT_TRUE(counted(0, 0, 8));
  EXPECT_TRUE(counted(3, 24, 8));
  EXPECT_FALSE(counted(3, 23, 8));
  EXPECT_FALSE(counted(0xffffffff, 100, 1));
  EXPECT_FALSE(counted(0x80000000, 0, 2));  // the product is 2^32
}

TEST(Bytes, CheckedValuesLieBetweenTheirBounds) {
  const auto read = [](auto value, auto least, auto most) {
    ByteWriter w;
    w.put(value);
    ByteReader r(w.written());
    const auto got = r.checked(least, most);
    EXPECT_EQ(got, r.ok() ? value : least);
    return r.done();
  };
  EXPECT_TRUE(read(int64_t{-2}, int64_t{-2}, int64_t{3}));
  EXPECT_TRUE(read(int64_t{3}, int64_t{-2}, int64_t{3}));
  EXPECT_FALSE(read(int64_t{-3}, int64_t{-2}, int64_t{3}));
  EXPECT_FALSE(read(int64_t{4}, int64_t{-2}, int64_t{3}));
  EXPECT_TRUE(read(Kind::second, Kind::first, Kind::second));
  EXPECT_FALSE(read(static_cast<Kind>(2), Kind::first, Kind::second));
  EXPECT_TRUE(read(0.0, 0.0, 1.0));
  EXPECT_FALSE(ByteReader("\x02").flag());

  // Not one that was cut, though its zero would do.
  ByteReader cut("");
  EXPECT_EQ(cut.checked<uint8_t>(0, 9), 0);
  EXPECT_FALSE(cut.ok());
  ByteWriter nan;
  nan.put(std::numeric_limits<double>::quiet_NaN());
  ByteReader r(nan.written());
  EXPECT_EQ(r.checked(0.0, 1.0), 0.0);
  EXPECT_FALSE(r.ok());
}

TEST(Bytes, WhatIsNotGoodFailsTheReader) {
  ByteReader r("\x01\x01");
  r.check(true);
  EXPECT_TRUE(r.flag());
  r.check(false);
  EXPECT_FALSE(r.flag());
  EXPECT_FALSE(r.ok());
}

TEST(Bytes, VarintsHoldSixtyFourBits) {
  for (const uint64_t v : {uint64_t{0}, uint64_t{127}, uint64_t{128}, uint64_t{1} << 63, ~uint64_t{0}}) {
    ByteWriter w;
    w.put_varint(v);
    ByteReader r(w.written());
    EXPECT_EQ(r.varint(), v);
    EXPECT_TRUE(r.done()) << v;
  }
  const std::string nine(9, '\xff');
  const std::pair<std::string, bool> cases[] = {
      {std::string("\x80\x00", 2), true},  // longer than needed
      {nine + "\x01", true},               // 2^64 - 1
      {nine + "\x02", false},              // bit 64
      {nine + "\x81", false},              // an eleventh byte
      {"\x81", false},                     // cut
  };
  for (const auto& [bytes, good] : cases) {
    ByteReader r(bytes);
    const uint64_t value = r.varint();
    EXPECT_EQ(r.ok(), good);
    if (!good) {
      EXPECT_EQ(value, 0u);
    }
  }
}

TEST(Bytes, TextsAndWindowsStayInside) {
  ByteReader cut(
      std::string_view("\x05\x00\x00\x00"
                       "four",
                       8));
  EXPECT_EQ(cut.text(), "");
  EXPECT_FALSE(cut.ok());
  ByteReader huge("abc");
  EXPECT_EQ(huge.bytes(~uint64_t{0}), "");
  EXPECT_FALSE(huge.ok());
  ByteReader all("abc");
  EXPECT_EQ(all.bytes(1), "a");
  EXPECT_EQ(all.offset(), 1u);
  EXPECT_EQ(all.rest(), "bc");
  EXPECT_TRUE(all.done());
}

TEST(Bytes, MagicsAndChecksumsAreCompared) {
  ByteWriter w;
  w.put_bytes("MAGIC001");
  w.put(uint32_t{7});
  w.put_checksum();
  const std::string good = w.take();
  const auto reads = [](std::string_view bytes) {
    ByteReader r(bytes);
    const bool magic = r.expect("MAGIC001");
    const uint32_t number = r.get<uint32_t>();
    return magic && r.checksum() && number == 7 && r.done();
  };
  EXPECT_TRUE(reads(good));
  for (size_t size = 0; size < good.size(); ++size) EXPECT_FALSE(reads(good.substr(0, size))) << size;
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(reads(bad)) << "bit " << bit;
  }
}

TEST(Bytes, ACountThatCannotBeSaidFailsTheWriter) {
  ByteWriter w;
  w.put_count(0xffffffff);
  EXPECT_TRUE(w.ok());
  w.put_count(0x100000000);
  EXPECT_FALSE(w.ok());
}

}  // namespace
}  // namespace walle::base
