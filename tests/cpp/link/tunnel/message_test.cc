#include "link/tunnel/message.h"

#include <gtest/gtest.h>

#include <random>

#include "base/bytes.h"
#include "link/tunnel/ack_message.h"
#include "link/tunnel/deflate.h"
#include "link/tunnel/epoch_message.h"
#include "link/tunnel/limits.h"
#include "seed.h"

namespace walle::link {
namespace {

std::optional<std::string> none(std::string_view, uint32_t) { return std::nullopt; }

TunnelRecord record(uint64_t seq, std::string bytes) {
  return {.seq = seq,
          .ts = static_cast<int64_t>(seq) * 1000,
          .task = "t",
          .feature = "f",
          .bytes = std::move(bytes)};
}

void expect_same(const std::vector<TunnelRecord>& a, const std::vector<TunnelRecord>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].seq, b[i].seq);
    EXPECT_EQ(a[i].ts, b[i].ts);
    EXPECT_EQ(a[i].task, b[i].task);
    EXPECT_EQ(a[i].feature, b[i].feature);
    EXPECT_EQ(a[i].bytes, b[i].bytes);
  }
}

std::string with_checksum(std::string bytes) {
  base::ByteWriter out;
  out.put_bytes(bytes);
  out.put_checksum();
  return out.take();
}

TEST(TunnelMessage, RandomRecordsComeBack) {
  const uint32_t seed = test_seed();
  std::mt19937_64 random(seed);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<MessageSection> sections(1 + random() % 4);
    std::map<std::string, std::string> dictionaries;
    for (size_t i = 0; i < sections.size(); ++i) {
      MessageSection& s = sections[i];
      s.stream = "s" + std::to_string(i);
      uint64_t seq = random() % 3 ? 0 : random() / 2;
      for (size_t k = 1 + random() % 20; k > 0; --k) {
        TunnelRecord r{.seq = seq += 1 + random() % 3, .ts = static_cast<int64_t>(random()), .bytes = {}};
        r.task = "task" + std::to_string(random() % 2);
        r.feature = "feature" + std::to_string(random() % 2);
        r.bytes.resize(random() % 400);
        for (char& c : r.bytes) c = static_cast<char>(random() % 2 ? random() : 'a');
        s.records.push_back(std::move(r));
      }
      if (random() % 2) dictionaries[s.stream] = s.dictionary = std::string(1 + random() % 500, 'a');
      s.remember = random() % 2;
    }
    const PackedMessage packed = pack_message(sections);
    const auto back = read_message(packed.bytes, [&](std::string_view stream, uint32_t id) {
      const std::string& words = dictionaries[std::string(stream)];
      EXPECT_EQ(id, dictionary_id(words));
      return std::optional(words);
    });
    ASSERT_TRUE(back.ok()) << back.error().message();
    ASSERT_EQ(back->size(), sections.size());
    for (size_t i = 0; i < sections.size(); ++i) {
      EXPECT_EQ((*back)[i].stream, sections[i].stream);
      EXPECT_EQ((*back)[i].remember, packed.remembered[i]);
      EXPECT_EQ((*back)[i].remember.empty(), !sections[i].remember);
      expect_same((*back)[i].records, sections[i].records);
    }
  }
}

TEST(TunnelMessage, EveryByteThatChangesIsSeen) {
  const std::string bytes =
      pack_message({{.stream = "s", .records = {record(1, std::string(50, 'x'))}}}).bytes;
  ASSERT_TRUE(read_message(bytes, none).ok());
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (const int bit : {1, 0x80}) {
      std::string bad = bytes;
      bad[i] = static_cast<char>(bad[i] ^ bit);
      EXPECT_FALSE(read_message(bad, none).ok()) << "byte " << i;
    }
    EXPECT_FALSE(read_message(std::string_view(bytes).substr(0, i), none).ok()) << i << " bytes";
  }
  EXPECT_FALSE(read_message(bytes + "x", none).ok());
}

// Behind a checksum that is right: what somebody may have made with intent.
TEST(TunnelMessage, BytesMadeWithIntentAreReadWithinBounds) {
  std::mt19937 random(test_seed());
  const std::string good =
      pack_message({{.stream = "s", .records = {record(1, "one"), record(2, std::string(300, 'y'))}},
                    {.stream = "u", .records = {record(9, "nine")}, .remember = true}})
          .bytes;
  const std::string body = good.substr(0, good.size() - 4);
  for (int trial = 0; trial < 20'000; ++trial) {
    std::string bad = body;
    for (size_t k = 1 + random() % 3; k > 0; --k) bad[random() % bad.size()] = static_cast<char>(random());
    if (random() % 4 == 0) bad.resize(random() % bad.size());
    const auto back = read_message(with_checksum(bad), none);
    if (!back.ok()) continue;
    for (const ReadSection& s : *back)
      for (size_t i = 1; i < s.records.size(); ++i) ASSERT_GT(s.records[i].seq, s.records[i - 1].seq);
  }
}

// A few bytes that say they are megabytes.
TEST(TunnelMessage, ABombIsRefusedByWhatItSays) {
  const auto bomb = [](uint64_t says, size_t sections) {
    const std::string zeros(1 << 20, '\0');
    const std::string small = *deflated(zeros, {});
    base::ByteWriter w;
    w.put_bytes("WTM");
    w.put<uint8_t>(1);
    w.put_varint(sections);
    for (size_t i = 0; i < sections; ++i) {
      w.put_varint(1);
      w.put_bytes("s");
      w.put<uint8_t>(1);
      w.put_varint(says);
      w.put_varint(small.size());
      w.put_bytes(small);
    }
    w.put_checksum();
    return w.take();
  };
  for (const uint64_t says : {uint64_t{kMostMessageBytes} + 1, uint64_t{1} << 40, UINT64_MAX}) {
    const auto back = read_message(bomb(says, 1), none);
    ASSERT_FALSE(back.ok());
    EXPECT_NE(back.error().message().find("more bytes than a message has"), std::string::npos);
  }
  EXPECT_FALSE(read_message(bomb(1000, 1), none).ok()) << "it inflates to more than it says";
  // Five of a megabyte each are more than one message has.
  const auto five = read_message(bomb(1 << 20, 5), none);
  ASSERT_FALSE(five.ok());
}

TEST(TunnelMessage, AnUnknownDictionaryLeavesTheOtherStreams) {
  const std::string words(200, 'w');
  const std::string bytes =
      pack_message({{.stream = "a", .records = {record(1, words + words)}, .dictionary = words},
                    {.stream = "b", .records = {record(5, "plain")}}})
          .bytes;
  const auto back = read_message(bytes, none);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ((*back)[0].unknown, dictionary_id(words));
  EXPECT_TRUE((*back)[0].records.empty());
  EXPECT_EQ((*back)[1].records.at(0).bytes, "plain");
  // The wrong one under the right name.
  const auto wrong = read_message(
      bytes, [](std::string_view, uint32_t) { return std::optional<std::string>(std::string(200, 'v')); });
  EXPECT_TRUE(!wrong.ok() || (*wrong)[0].records.at(0).bytes != words + words);
}

TEST(TunnelMessage, ADictionaryOfTheStreamItselfSavesMostOfASmallRecord) {
  const std::string head =
      "{\"item\": \"page view\", \"columns\": [\"dwell\", \"scroll\", \"clicks\", \"price\"], ";
  const auto first =
      pack_message({{.stream = "s", .records = {record(1, head + "\"v\": 1}")}, .remember = true}});
  const auto plain = pack_message({{.stream = "s", .records = {record(2, head + "\"v\": 2}")}}});
  const auto better = pack_message(
      {{.stream = "s", .records = {record(2, head + "\"v\": 2}")}, .dictionary = first.remembered[0]}});
  EXPECT_LT(better.bytes.size() * 2, plain.bytes.size());
}

TEST(TunnelMessage, InflatedWantsExactlyTheSize) {
  const std::string text(1000, 'z');
  const std::string small = *deflated(text, {});
  EXPECT_EQ(inflated(small, {}, 1000), text);
  EXPECT_EQ(inflated(small, {}, 999), std::nullopt);
  EXPECT_EQ(inflated(small, {}, 1001), std::nullopt);
  EXPECT_EQ(inflated(small + "x", {}, 1000), std::nullopt);
  EXPECT_EQ(inflated(small.substr(1), {}, 1000), std::nullopt);
  EXPECT_EQ(deflated("", {}), std::nullopt);
  EXPECT_EQ(deflated("ab", {}), std::nullopt) << "it would not become smaller";
}

TEST(TunnelAck, ComesBackAndIsRefusedWhenItIsDamaged) {
  const std::vector<AckEntry> entries = {
      {.stream = "a", .dictionary = 77, .runs = {{1, 3}, {5, 1}, {UINT64_MAX - 1, 1}}},
      {.stream = "b", .status = AckStatus::unknown_dictionary, .dictionary = 9, .runs = {}},
      {.stream = "c", .status = AckStatus::refused, .runs = {{2, 2}}}};
  const std::string bytes = pack_ack(entries);
  const auto back = read_ack(bytes);
  ASSERT_TRUE(back.ok()) << back.error().message();
  ASSERT_EQ(back->size(), 3u);
  EXPECT_EQ((*back)[0].dictionary, 77u);
  EXPECT_EQ((*back)[0].runs.at(2).first, UINT64_MAX - 1);
  EXPECT_EQ((*back)[1].status, AckStatus::unknown_dictionary);
  EXPECT_EQ((*back)[2].runs.at(0).count, 2u);
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string bad = bytes;
    bad[i] = static_cast<char>(bad[i] ^ 4);
    EXPECT_FALSE(read_ack(bad).ok()) << "byte " << i;
    EXPECT_FALSE(read_ack(std::string_view(bytes).substr(0, i)).ok());
  }
  const std::string body = bytes.substr(0, bytes.size() - 4);
  for (size_t i = 0; i < body.size(); ++i)
    for (int value = 0; value < 256; ++value) {
      std::string bad = body;
      bad[i] = static_cast<char>(value);
      (void)read_ack(with_checksum(bad));  // within bounds, whatever it says
    }
  // Runs that pass the end of the numbers, of no record, and from 0.
  for (const SeqRun run : {SeqRun{UINT64_MAX, 2}, SeqRun{1, 0}, SeqRun{0, 1}})
    EXPECT_FALSE(read_ack(pack_ack({{.stream = "a", .runs = {run}}})).ok());
}

TEST(EpochMessage, IsTenBytes) {
  const std::string bytes = pack_epoch({.epoch = 0x0102030405060708, .jitter_s = 5});
  EXPECT_EQ(bytes, std::string("\x08\x07\x06\x05\x04\x03\x02\x01\x05\x00", 10));
  EXPECT_EQ(read_epoch(bytes)->epoch, 0x0102030405060708u);
  EXPECT_EQ(read_epoch(bytes)->jitter_s, 5);
  EXPECT_FALSE(read_epoch(bytes.substr(1)));
  EXPECT_FALSE(read_epoch(bytes + "x"));
}

}  // namespace
}  // namespace walle::link
