// Packed weights on disk: what was kept comes back for the same bytes, kind and build, and nothing else does.
#include "runtime/weights_cache.h"

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "backends/host_memory.h"
#include "base/fault_env.h"
#include "build.h"
#include "runtime/kept_constants.h"

namespace walle::runtime {
namespace {

constexpr uint64_t kBuild = 7;
constexpr size_t kBlock = size_t{2} << 20;  // mapped, not read
constexpr size_t kSmallBlock = size_t{32} << 10;

class Folder {
 public:
  Folder() {
    std::string name = std::filesystem::temp_directory_path() / "walle_weights_XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }
  size_t files() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::string path_;
};

std::vector<std::byte> some(size_t size, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::vector<std::byte> out(size);
  for (std::byte& b : out) b = static_cast<std::byte>(random());
  return out;
}

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// As a writer that knows rename: what is mapped stays as it is.
void write(const std::string& path, const std::string& bytes) {
  ASSERT_TRUE(base::Env::system().replace_file(path, bytes).ok());
}

using Found = WeightsCache::Found;

TEST(WeightsCache, MapsWhatItKept) {
  const Folder folder;
  const WeightsCache cache(base::Env::system(), folder.path() + "/new/folder", kBuild);
  for (const size_t size : {kSmallBlock, kBlock}) {
    const auto block = some(size);
    const Digest key{size, 2};
    EXPECT_EQ(cache.find(key).found, Found::nothing);
    ASSERT_TRUE(*cache.keep(key, block));
    const auto found = cache.find(key);
    ASSERT_EQ(found.found, Found::whole);
    EXPECT_TRUE(std::ranges::equal(found.block, block));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(found.block.data()) % base::kSegmentAlignment, 0u);
    EXPECT_EQ(found.file->mapped(), size == kBlock);
  }
}

TEST(WeightsCache, EveryDamagedByteOfTheHeaderAndBlockIsNoticed) {
  const Folder folder;
  const WeightsCache cache(base::Env::system(), folder.path(), kBuild);
  const Digest key{3, 4};
  ASSERT_TRUE(*cache.keep(key, some(kSmallBlock)));
  const std::string whole = read(cache.path_of(key));
  ASSERT_EQ(whole.size(), kSmallBlock + WeightsCache::kHeaderBytes);
  const auto damaged = [&](const std::string& bytes) {
    std::ofstream(cache.path_of(key), std::ios::binary) << bytes;
    return cache.find(key).found == Found::damaged;
  };
  for (size_t i = 0; i < whole.size(); i += i < WeightsCache::kHeaderBytes ? 1 : 97) {
    std::string flipped = whole;
    flipped[i] = static_cast<char>(flipped[i] ^ (1 << (i % 8)));
    EXPECT_TRUE(damaged(flipped)) << "byte " << i;
  }
  for (const size_t size : {size_t{0}, size_t{1}, size_t{63}, size_t{64}, size_t{65}, whole.size() - 1})
    EXPECT_TRUE(damaged(whole.substr(0, size))) << "cut at " << size;
  EXPECT_TRUE(damaged(whole + '\0'));
  EXPECT_FALSE(damaged(whole));
  std::filesystem::rename(cache.path_of(key), cache.path_of({3, 5}));
  EXPECT_EQ(cache.find({3, 5}).found, Found::damaged) << "the file of another key";
}

TEST(WeightsCache, TheKeyIsEverythingThatABlockDependsOn) {
  const WeightsCache cache(base::Env::system(), "unused", kBuild);
  const WeightsCache other(base::Env::system(), "unused", kBuild + 1);
  const Tensor a = ramp({8, 6});
  Tensor changed = ramp({8, 6});
  changed.as_mutable<float>()[47] += 1;
  const Tensor reshaped = a.reshaped({6, 8});
  const Tensor integers(DType::int32, Shape{8, 6}, a.buffer());
  const auto key = [](const WeightsCache& c, std::vector<const Tensor*> sources, const char* kind = "k") {
    return c.key_of(sources, kind);
  };
  const Tensor copy = ramp({8, 6});
  EXPECT_EQ(key(cache, {&a}), key(cache, {&copy})) << "bytes count, not where they lie";
  std::vector<Digest> keys{key(cache, {&a}),        key(cache, {&changed}),     key(cache, {&reshaped}),
                           key(cache, {&integers}), key(cache, {&a}, "kind"),   key(cache, {&a, &changed}),
                           key(other, {&a}),        key(cache, {&changed, &a}), key(cache, {&a, &a}),
                           key(cache, {})};
  std::ranges::sort(keys);
  EXPECT_TRUE(std::ranges::adjacent_find(keys) == keys.end());
}

TEST(WeightsCache, DigestsTellEveryWordAndEverySizeApart) {
  const auto bytes = some(101);
  std::vector<Digest> all;
  for (size_t size = 0; size <= bytes.size(); ++size) all.push_back(digest_of(std::span(bytes).first(size)));
  for (size_t i = 0; i < bytes.size(); ++i) {
    auto flipped = bytes;
    flipped[i] ^= std::byte{1};
    all.push_back(digest_of(flipped));
  }
  std::vector<std::byte> zeros(40);  // nothing but their number tells them apart
  for (size_t size = 1; size <= zeros.size(); ++size) all.push_back(digest_of(std::span(zeros).first(size)));
  std::ranges::sort(all);
  EXPECT_TRUE(std::ranges::adjacent_find(all) == all.end());
}

TEST(WeightsCache, AnotherBuildFindsNothing) {
  const Folder folder;
  const Tensor weights = ramp({128, 64});
  const std::vector<const Tensor*> sources{&weights};
  const WeightsCache old(base::Env::system(), folder.path(), kBuild);
  ASSERT_TRUE(*old.keep(old.key_of(sources, "k"), some(kSmallBlock)));
  EXPECT_EQ(old.find(old.key_of(sources, "k")).found, Found::whole);
  const WeightsCache next(base::Env::system(), folder.path(), kBuild + 1);
  EXPECT_EQ(next.find(next.key_of(sources, "k")).found, Found::nothing);
  EXPECT_NE(build_fingerprint(), 0u);
}

TEST(WeightsCache, SmallBlocksAreNotKeptAndLimitsAreInclusive) {
  base::FaultEnv env;
  const auto least = static_cast<size_t>(WeightsCache::kLeastBlockBytes);
  const auto whole = WeightsCache::kLeastBlockBytes + static_cast<int64_t>(WeightsCache::kHeaderBytes);
  const WeightsCache cache(env, "w", kBuild, {.bytes = 3 * whole, .files = 100});
  EXPECT_FALSE(*cache.keep({1, 1}, some(least - 1)));
  EXPECT_TRUE(*cache.keep({1, 1}, some(least)));
  for (uint64_t i = 2; i <= 3; ++i) ASSERT_TRUE(*cache.keep({i, 1}, some(least)));
  EXPECT_EQ(env.list_files("w")->size(), 3u);
  ASSERT_TRUE(*cache.keep({4, 1}, some(least)));
  EXPECT_EQ(env.list_files("w")->size(), 3u) << "one made room";
  EXPECT_GE(env.file_size(cache.path_of({4, 1})), 0);
  ASSERT_TRUE(*cache.keep({4, 1}, some(least, 2)));
  EXPECT_EQ(env.list_files("w")->size(), 3u) << "its own old file takes no room";
  const WeightsCache narrow(env, "w", kBuild, {.bytes = 3 * whole, .files = 2});
  ASSERT_TRUE(*narrow.keep({5, 1}, some(least)));
  EXPECT_EQ(env.list_files("w")->size(), 2u);
  EXPECT_FALSE(*narrow.keep({6, 1}, some(3 * least + 200))) << "larger than all files may be";
}

TEST(WeightsCache, OtherFilesOfTheFolderStay) {
  base::FaultEnv env;
  ASSERT_TRUE(env.make_dirs("w").ok());
  ASSERT_TRUE(env.replace_file("w/zz.plan", std::string(1000, 'x')).ok());
  const WeightsCache cache(env, "w", kBuild, {.bytes = WeightsCache::kMostBytes, .files = 1});
  for (uint64_t i = 0; i < 3; ++i) ASSERT_TRUE(*cache.keep({i, 1}, some(kSmallBlock)));
  EXPECT_EQ(env.list_files("w")->size(), 2u);
  EXPECT_EQ(env.file_size("w/zz.plan"), 1000);
}

// Whatever breaks while a file is replaced: the name has the old bytes, the new ones, or none.
TEST(WeightsCache, NoHalfFileEverHasTheName) {
  const auto was = some(kSmallBlock, 1);
  const auto is = some(kSmallBlock, 2);
  const Digest key{1, 2};
  int broken = 0;
  for (int64_t k = 0; k < 20; ++k) {
    base::FaultEnv env;
    const WeightsCache cache(env, "w", kBuild);
    ASSERT_TRUE(*cache.keep(key, was));
    const std::string old_bytes = env.file(cache.path_of(key));
    env.fail_at(k);
    const auto kept = cache.keep(key, is);
    env.fail_at(-1);
    if (!kept.ok()) ++broken;
    env.lose_power();
    const std::string after = *env.read_file(cache.path_of(key));
    EXPECT_EQ(after == old_bytes, !kept.ok()) << "operation " << k;
    EXPECT_EQ(after.size(), old_bytes.size()) << "operation " << k;
  }
  EXPECT_GT(broken, 1);
}

TEST(WeightsCache, AFullDiskIsAnErrorAndLeavesNothing) {
  base::FaultEnv env;
  env.limit_disk(1000);
  const WeightsCache cache(env, "w", kBuild);
  EXPECT_FALSE(cache.keep({1, 2}, some(kSmallBlock)).ok());
  EXPECT_LT(env.file_size(cache.path_of({1, 2})), 0);
}

backends::Block made(std::span<const std::byte> bytes) {
  auto block = *backends::Block::allocate(backends::host_memory(), std::ssize(bytes));
  std::ranges::copy(bytes, backends::host_memory().pointer(block.handle()));
  return block;
}

// A model's constants in one process after another.
struct Process {
  PreparedConstants prepared;
  KeptConstants kept;
  int packed = 0;

  explicit Process(const std::string& folder)
      : kept(prepared, WeightsCache(base::Env::system(), folder, kBuild)) {}
  backends::SharedBlock get(const Tensor& source, std::span<const std::byte> bytes) {
    const std::vector<const Tensor*> sources{&source};
    return *kept.get(sources, "k", [&]() -> Result<backends::Block> {
      ++packed;
      return made(bytes);
    });
  }
};

TEST(KeptConstants, TheSecondProcessPacksNothing) {
  const Folder folder;
  const auto bytes = some(kBlock);
  const Tensor weights = ramp({64, 64});
  for (const int expected : {1, 0}) {
    Process process(folder.path());
    const backends::SharedBlock block = process.get(weights, bytes);
    EXPECT_EQ(process.get(weights, bytes), block) << "one block, however often it is asked for";
    EXPECT_EQ(process.packed, expected);
    EXPECT_EQ(process.kept.sources(), (std::map<std::string, int>{{expected ? "kept" : "cache", 1}}));
    EXPECT_EQ(block->handle().memory(), &backends::host_memory());
    EXPECT_EQ(std::memcmp(backends::host_memory().pointer(block->handle()), bytes.data(), kBlock), 0);
  }
}

TEST(KeptConstants, ADamagedFileIsMended) {
  const Folder folder;
  const auto bytes = some(kBlock);
  const Tensor weights = ramp({64, 64});
  Process(folder.path()).get(weights, bytes);
  const WeightsCache cache(base::Env::system(), folder.path(), kBuild);
  const std::vector<const Tensor*> sources{&weights};
  const std::string path = cache.path_of(cache.key_of(sources, "k"));
  std::string damaged = read(path);
  damaged[kBlock / 2] = static_cast<char>(damaged[kBlock / 2] ^ 1);
  write(path, damaged);
  Process mending(folder.path());
  mending.get(weights, bytes);
  EXPECT_EQ(mending.kept.sources(), (std::map<std::string, int>{{"mended", 1}}));
  Process after(folder.path());
  after.get(weights, bytes);
  EXPECT_EQ(after.packed, 0);
}

TEST(KeptConstants, AFileThatIsWrittenToIsToldBeforeTheNextRun) {
  const Folder folder;
  const auto bytes = some(kBlock);
  const Tensor weights = ramp({64, 64});
  Process(folder.path()).get(weights, bytes);
  Process process(folder.path());
  process.get(weights, bytes);
  EXPECT_TRUE(process.prepared.check_files().ok());
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    const std::string same = read(entry.path());
    write(entry.path(), same);
    EXPECT_TRUE(process.prepared.check_files().ok()) << "another file by that name is none of its business";
  }
  Process second(folder.path());
  second.get(weights, bytes);
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    std::filesystem::resize_file(entry.path(), 100);
  EXPECT_FALSE(second.prepared.check_files().ok());
  EXPECT_TRUE(process.prepared.check_files().ok());
}

TEST(KeptConstants, AFolderThatCannotBeWrittenIsNoError) {
  const Folder folder;
  std::ofstream(folder.path() + "/file") << "x";
  Process process(folder.path() + "/file/below");
  EXPECT_TRUE(process.get(ramp({64, 64}), some(kSmallBlock)));
  EXPECT_EQ(process.kept.sources(), (std::map<std::string, int>{{"not_kept", 1}}));
}

TEST(KeptConstants, ManyMayWriteAndReadAtOnce) {
  const Folder folder;
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int round = 0; round < 5; ++round) {
        Process process(folder.path());
        for (unsigned i = 0; i < 4; ++i) {
          const auto bytes = some(kSmallBlock, i);
          const auto block = process.get(ramp({4, 4}, static_cast<float>(i)), bytes);
          wrong +=
              std::memcmp(backends::host_memory().pointer(block->handle()), bytes.data(), kSmallBlock) != 0;
        }
        wrong += process.kept.sources().contains("mended");
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(folder.files(), 4u);
}

}  // namespace
}  // namespace walle::runtime
