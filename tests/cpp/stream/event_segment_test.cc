#include "stream/event/event_segment.h"

#include <gtest/gtest.h>

#include <random>

namespace walle::stream {
namespace {

constexpr int kKinds = 12;
constexpr uint64_t kEvents = 3000;
constexpr uint64_t kSeed = 77;

// Twelve kinds of events with two fields each, of which any may be missing; some have a time of their own.
class SegmentByNumber : public testing::Test {
 protected:
  SegmentByNumber() {
    for (int k = 0; k < kKinds; ++k)
      EXPECT_TRUE(catalog_
                      .declare({.name = "e" + std::to_string(k),
                                .kind = EventKind::custom,
                                .fields = {{.name = "n", .type = ColumnType::integer},
                                           {.name = "text", .type = ColumnType::text}}})
                      .ok());
    EventSegmentBuilder builder(catalog_);
    for (uint64_t seq = 1; seq <= kEvents; ++seq) builder.add(made(seq));
    bytes_ = store::encode_segment(builder.finish());
  }

  // Event `seq`, whose contents lie in values_.
  Event made(uint64_t seq) {
    std::mt19937_64 random(kSeed + seq);
    text_ = "text " + std::to_string(random() % 100);
    values_ = {Value::of(static_cast<int64_t>(seq)), Value::of(std::string_view(text_))};
    for (Value& v : values_)
      if (random() % 3 == 0) v = Value();
    Event e;
    e.seq = seq;
    e.event = *catalog_.find_event("e" + std::to_string(random() % kKinds));
    e.ts = e.own_ts = static_cast<int64_t>(1'700'000'000'000'000 + seq);
    e.contents = values_;
    if (random() % 5 == 0) {
      e.flags = kHasOwnTime;
      e.own_ts -= 7;
    }
    return e;
  }

  void expect_made(const Event& read) {
    const Event e = made(read.seq);
    EXPECT_EQ(read.event, e.event);
    EXPECT_EQ(read.own_ts, e.own_ts);
    for (size_t f = 0; f < values_.size(); ++f) {
      ASSERT_EQ(read.contents[f].present, values_[f].present) << "event " << e.seq << " field " << f;
      if (!values_[f].present) continue;
      EXPECT_EQ(read.contents[f].i, values_[f].i);
      EXPECT_EQ(read.contents[f].text, values_[f].text);
    }
  }

  Catalog catalog_;
  std::string bytes_, text_;
  std::vector<Value> values_;
};

TEST_F(SegmentByNumber, EveryEventIsTheOneThatWasWrittenWhereverReadingBegins) {
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  for (uint64_t from = 0; from <= kEvents + 1; from += from < 20 ? 1 : 37) {
    auto segment = store::SegmentReader::open(bytes_);
    ASSERT_TRUE(segment.ok());
    uint64_t next = std::max<uint64_t>(from, 1);
    auto events = EventSegmentReader::make(*segment, catalog_);
    ASSERT_TRUE(events.ok()) << events.error().message();
    const Status s = events->read(from, INT64_MIN, [&](const Event& e) {
      EXPECT_EQ(e.seq, next++);
      expect_made(e);
      return next < from + 40;
    });
    ASSERT_TRUE(s.ok()) << s.error().message();
    EXPECT_EQ(next, std::min(std::max<uint64_t>(from, 1) + (from == 0 ? 39 : 40), kEvents + 1)) << from;
  }
}

TEST_F(SegmentByNumber, OneEventUnpacksTheColumnsOfItsKindAlone) {
  auto segment = store::SegmentReader::open(bytes_);
  ASSERT_TRUE(segment.ok());
  auto events = EventSegmentReader::make(*segment, catalog_);
  ASSERT_TRUE(events.ok()) << events.error().message();
  const Status s = events->read(1500, INT64_MIN, [](const Event&) { return false; });
  ASSERT_TRUE(s.ok()) << s.error().message();
  // What every event has, times of their own, and the two fields of the kind.
  EXPECT_EQ(segment->unpacked(), kHeadColumns + 1 + 2);
  EXPECT_EQ(segment->columns(), kHeadColumns + 1 + kKinds * 2);
}

TEST_F(SegmentByNumber, EventsAreReadInAnyOrder) {
  auto segment = store::SegmentReader::open(bytes_);
  ASSERT_TRUE(segment.ok());
  auto events = EventSegmentReader::make(*segment, catalog_);
  ASSERT_TRUE(events.ok()) << events.error().message();
  for (uint64_t i = 0; i < 500; ++i) {
    const uint64_t seq = 1 + i * 1999 % kEvents;
    const Status s = events->read(seq, INT64_MIN, [&](const Event& e) {
      EXPECT_EQ(e.seq, seq);
      expect_made(e);
      return false;
    });
    ASSERT_TRUE(s.ok()) << s.error().message();
  }
}

TEST_F(SegmentByNumber, DamageInAColumnThatNobodyReadsIsFoundByTheChecksums) {
  for (size_t at = 0; at < bytes_.size(); at += 11) {
    std::string bad = bytes_;
    bad[at] = static_cast<char>(bad[at] ^ 0x20);
    const auto segment = store::SegmentReader::open(bad);
    EXPECT_FALSE(segment.ok() && segment->check().ok()) << at;
  }
}

}  // namespace
}  // namespace walle::stream
