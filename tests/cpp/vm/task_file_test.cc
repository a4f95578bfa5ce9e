// The file around bytecode and resources. Needs no VM library.
#include "vm/task_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "base/crc32c.h"
#include "base/names.h"

namespace walle::vm {
namespace {

std::string text(const Buffer& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

Buffer kept(std::string bytes) {
  auto owner = std::make_shared<std::string>(std::move(bytes));
  return Buffer::window(owner, owner->data(), owner->size());
}

std::string sample() {
  const std::string model(1000, 'm');
  return *write_task_file("code", {{"models/b.walle", model}, {"a.txt", ""}});
}

TEST(TaskFile, HoldsPartsSortedAndAligned) {
  Result<TaskFile> file = read_task_file(kept(sample()));
  ASSERT_TRUE(file.ok()) << file.error().message();
  EXPECT_EQ(text(file->code), "code");
  ASSERT_EQ(file->resources.size(), 2u);
  EXPECT_EQ(file->resources[0].name, "a.txt");
  EXPECT_EQ(file->resources[0].bytes.size(), 0u);
  EXPECT_EQ(text(file->resources[1].bytes), std::string(1000, 'm'));
  EXPECT_FALSE(file->resources[1].bytes.writable());
}

TEST(TaskFile, PartsKeepTheFileAlive) {
  std::vector<Resource> parts = read_task_file(kept(sample()))->resources;
  EXPECT_EQ(text(parts[1].bytes), std::string(1000, 'm'));
}

TEST(TaskFile, EveryFlippedBitIsSeen) {
  const std::string good = sample();
  const size_t body = good.size() - 1000;
  int harmless = 0;
  for (size_t at = 0; at < good.size(); at += at < body ? 1 : 37) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ (1 << bit));
      harmless += read_task_file(kept(bad)).ok();
    }
  }
  EXPECT_LE(harmless, 8 * 128);  // padding between parts, at most 63 bytes each
  EXPECT_GT(harmless, 0);
}

TEST(TaskFile, EveryShorterFileIsRefused) {
  const std::string good = sample();
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(read_task_file(kept(good.substr(0, size))).ok()) << size;
}

// With a right checksum only the bounds stand between the index and the file: parts never leave it.
TEST(TaskFile, ResealedDamageStaysInsideTheFile) {
  const std::string good = sample();
  std::mt19937_64 random(5);
  uint32_t index_bytes;
  std::memcpy(&index_bytes, good.data() + 12, 4);
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bad = good;
    const size_t edits = 1 + random() % 3;
    for (size_t i = 0; i < edits; ++i)
      bad[12 + random() % (12 + index_bytes)] = static_cast<char>(random() % 4 ? random() % 8 : random());
    uint32_t size;
    std::memcpy(&size, bad.data() + 12, 4);
    const uint32_t crc = base::crc32c(0, bad.data() + 24, std::min<size_t>(size, bad.size() - 24));
    std::memcpy(bad.data() + 8, &crc, 4);
    const Buffer bytes = kept(bad);
    Result<TaskFile> file = read_task_file(bytes);
    if (!file.ok()) continue;
    ++accepted;
    for (const Resource& part : file->resources) {
      EXPECT_GE(part.bytes.data(), bytes.data());
      EXPECT_LE(part.bytes.data() + part.bytes.size(), bytes.data() + bytes.size());
      EXPECT_TRUE(base::valid_name(base::NameKind::file, part.name));
    }
  }
  EXPECT_LT(accepted, 5000);
}

TEST(TaskFile, RefusesToWriteNamesTwice) {
  EXPECT_FALSE(write_task_file("c", {{"a", "1"}, {"a", "2"}}).ok());
  EXPECT_FALSE(write_task_file("c", {{"../a", "1"}}).ok());
}

}  // namespace
}  // namespace walle::vm
