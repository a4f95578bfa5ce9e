// Rings that nobody wrote this way: right checksums in the wrong place, numbers that go nowhere, files of any
// size. A journal opens, ends at its last append, and takes no longer than a few readings of the ring.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "base/fault_env.h"
#include "store/journal.h"
#include "store/journal_header.h"

namespace walle::store {
namespace {

using base::FaultEnv;
constexpr size_t kRing = 8192;

std::span<std::byte> ring_of(std::string& file) {
  return std::as_writable_bytes(std::span(file)).subspan(kJournalHeaderBytes);
}

void forge(std::string& file, size_t offset, uint64_t seq, std::string_view payload = "", uint32_t size = 0) {
  write_frame(ring_of(file).data() + offset, size ? size : static_cast<uint32_t>(payload.size()), seq,
              std::as_bytes(std::span(payload)));
}
void forge_gap(std::string& file, size_t offset, uint64_t seq, uint64_t next) {
  forge(file, offset, seq, {reinterpret_cast<const char*>(&next), 8}, kGapFrame);
}
void forge_tail(std::string& file, uint64_t generation, uint64_t seq, uint64_t offset) {
  store_tail(std::as_writable_bytes(std::span(file)), {generation, seq, offset});
}

uint64_t append(Journal& j, std::string_view payload) {
  const auto seq = j.append(std::as_bytes(std::span(payload)));
  EXPECT_TRUE(seq.ok());
  return seq.ok() ? *seq : 0;
}

// Opens what `env` holds, appends, opens again: the chain must end at that append and nothing more be lost.
JournalRecovery ends_at_its_append(FaultEnv& env, size_t payload_bytes) {
  uint64_t appended = 0;
  JournalRecovery first;
  {
    auto j = Journal::open(env, "/j", kRing);
    EXPECT_TRUE(j.ok());
    first = (*j)->recovery();
    appended = append(**j, std::string(payload_bytes, 'p'));
  }
  auto again = Journal::open(env, "/j", kRing);
  EXPECT_TRUE(again.ok());
  EXPECT_EQ((*again)->last_seq(), appended);
  EXPECT_EQ((*again)->recovery().lost, 0u);
  return first;
}

std::string three_frames(FaultEnv& env) {
  {
    auto j = Journal::open(env, "/j", kRing);
    for (int i = 0; i < 3; ++i) append(**j, std::string(8, 'a'));  // 24 bytes each
  }
  return env.file("/j");
}

TEST(ForgedJournal, FramesBehindTheHeadNeverContinueTheChain) {
  FaultEnv env;
  const std::string good = three_frames(env);
  for (size_t payload = 0; payload <= 100; ++payload) {
    std::string file = good;
    // The first counts as a frame behind damage: numbers up to 4 + 511 are lost, and a gap of 24 bytes leads
    // to 516. The others would follow the append behind that gap.
    forge(file, 4096, 4 + kRing / kFrameHeaderBytes - 1);
    for (uint64_t i = 0; i < 5; ++i) forge(file, 72 + 24 + frame_bytes(payload) + 16 * i, 517 + i);
    env.file("/j") = file;
    EXPECT_EQ(ends_at_its_append(env, payload).lost, 512u) << payload;
  }
}

// Payloads are the applications': they may hold the image of
// the frame that will be expected there one lap later.
TEST(ForgedJournal, FramesInPayloadsOfTheLastLapNeverContinueTheChain) {
  FaultEnv env;
  auto opened = Journal::open(env, "/j", kRing);
  ASSERT_TRUE(opened.ok());
  Journal& j = **opened;
  for (size_t frame = 0; frame < 4; ++frame) {  // 4 * 2,016 bytes; the next lap starts with number 10
    std::string image(kRing, '\0');
    std::string file = std::string(kJournalHeaderBytes, '\0') + image;
    for (size_t at = 0; at + 24 <= kRing; at += 24) forge(file, at, 10 + at / 24);
    append(j, std::string_view(file).substr(kJournalHeaderBytes + frame * 2016 + 16, 2000));
  }
  ASSERT_TRUE(j.release(4).ok());
  for (uint64_t seq = 5; seq < 300; ++seq) {
    ASSERT_EQ(append(j, "8 bytes."), seq);
    FaultEnv killed;
    ASSERT_TRUE(killed.replace_file("/j", env.file("/j")).ok());
    auto again = Journal::open(killed, "/j", kRing);
    ASSERT_TRUE(again.ok());
    // They may be taken for what is left of lost frames, never for kept ones.
    ASSERT_EQ((*again)->recovery().last_seq, seq);
  }
}

TEST(ForgedJournal, FramesInPayloadsAreNotCountedAsLost) {
  FaultEnv env;
  {
    auto j = Journal::open(env, "/j", kRing);
    std::string image(kJournalHeaderBytes + kRing, '\0');
    for (uint64_t i = 0; i < 20; ++i) forge(image, 16 * i, 3 + i);
    append(**j, "before");
    append(**j, std::string_view(image).substr(kJournalHeaderBytes, 320));
  }
  auto j = Journal::open(env, "/j", kRing);
  EXPECT_EQ((*j)->last_seq(), 2u);
  EXPECT_EQ((*j)->recovery().lost, 0u);
}

TEST(ForgedJournal, GapsThatGoNowhereEndTheChain) {
  FaultEnv env;
  const std::string good = three_frames(env);
  for (const uint64_t next :
       {uint64_t{0}, uint64_t{1}, uint64_t{4}, uint64_t{4} + kRing + 1, kMaxSeq, ~uint64_t{0}}) {
    env.file("/j") = good;
    forge_gap(env.file("/j"), 72, 4, next);
    EXPECT_EQ(ends_at_its_append(env, 8).last_seq, 3u) << next;
  }
  env.file("/j") = good;
  forge_gap(env.file("/j"), 72, 4, 4 + kRing);
  EXPECT_EQ(ends_at_its_append(env, 8).last_seq, 3 + kRing);
}

TEST(ForgedJournal, TailsThatGoNowhereAreIgnored) {
  FaultEnv env;
  const std::string good = three_frames(env);
  for (const uint64_t seq : {kMaxSeq, ~uint64_t{0}, uint64_t{0}}) {
    env.file("/j") = good;
    forge_tail(env.file("/j"), 1000, seq, 0);
    EXPECT_EQ(ends_at_its_append(env, 8).last_seq, 3u) << seq;
  }
  env.file("/j") = good;
  forge_tail(env.file("/j"), ~uint64_t{0}, 2, 24);  // its successor would have number 0
  EXPECT_EQ(ends_at_its_append(env, 8).first_seq, 1u);
}

// The second frame holds the first in its payload: its checksum is right although it reaches across the tail.
TEST(ForgedJournal, AChainIsNeverLongerThanTheRing) {
  FaultEnv env;
  three_frames(env);
  std::string& file = env.file("/j");
  forge_tail(file, 1000, 100, 4096);
  forge(file, 4096, 100, std::string(4000, 'x'));
  forge(file, 4096 + 4016, 101, "", kSkipFrame);
  forge(file, 0, 101, file.substr(kJournalHeaderBytes + 16, 5000));
  const JournalRecovery r = ends_at_its_append(env, 8);
  EXPECT_EQ(r.first_seq, 100u);
  EXPECT_EQ(r.last_seq, 100u);
}

// Every word says: a frame of 4 MiB with the number that is expected. Without a bound that is 2^21 checksums
// of 4 MiB.
TEST(ForgedJournal, BytesThatLookLikeAFrameEverywhereCostAFewReadings) {
  constexpr size_t kLarge = size_t{1} << 24;
  constexpr uint64_t kWord = uint64_t{1} << (22 + 32);
  FaultEnv env;
  ASSERT_TRUE(Journal::open(env, "/j", kLarge).ok());
  std::string& file = env.file("/j");
  forge_tail(file, 1000, kWord - 10, 0);
  for (size_t at = 0; at < kLarge; at += 8) base::store_le(ring_of(file), at, kWord);
  const auto start = std::chrono::steady_clock::now();
  auto j = Journal::open(env, "/j", kLarge);
  const auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  ASSERT_TRUE(j.ok());
  EXPECT_EQ((*j)->recovery().lost, 0u);
  EXPECT_LT(seconds, 10);  // 0.05 s here; unbounded, hours
}

class HugeFile : public ::testing::Test {
 protected:
  HugeFile() : path_(std::filesystem::temp_directory_path() / ("walle-huge-" + std::to_string(::getpid()))) {}
  ~HugeFile() override { std::filesystem::remove(path_); }
  const std::filesystem::path path_;
};

TEST_F(HugeFile, WithoutAHeaderIsRefusedAndLeftAlone) {
  std::ofstream(path_) << "no journal";
  std::filesystem::resize_file(path_, uintmax_t{3} << 30);  // sparse
  const auto j = Journal::open(Env::system(), path_.string(), kRing);
  ASSERT_FALSE(j.ok());
  for (const char* part : {"3221225472 bytes", "move it away"})
    EXPECT_NE(j.error().message().find(part), std::string::npos);
  EXPECT_EQ(std::filesystem::file_size(path_), uintmax_t{3} << 30);
}

TEST_F(HugeFile, WithAHeaderOpensByItsHeader) {
  {
    append(**Journal::open(Env::system(), path_.string(), kRing), "kept");
  }
  std::filesystem::resize_file(
      path_, uintmax_t{64} << 30);  // reading all of it would take more memory than there is
  const auto j = Journal::open(Env::system(), path_.string(), 2 * kRing);
  ASSERT_TRUE(j.ok()) << j.error().message();
  EXPECT_EQ((*j)->capacity(), kRing);
  EXPECT_EQ((*j)->last_seq(), 1u);
}

}  // namespace
}  // namespace walle::store
