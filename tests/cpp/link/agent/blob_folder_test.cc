#include "link/agent/blob_folder.h"

#include "agent_case.h"

namespace walle::link {
namespace {

constexpr const char* kFile = "mem://blob";

class Blobs : public testing::Test {
 protected:
  void SetUp() override {
    if (!SigningKey::can_make()) GTEST_SKIP() << "no libcrypto is installed";
    for (size_t i = 0; i < 10'000; ++i) content += static_cast<char>(i * 7919 >> 3);
    server.files[kFile] = content;
    blob = {FakeRepository::sha256(content), content.size()};
  }
  BlobFolder opened() {
    auto folder = BlobFolder::open(env, **Crypto::system(), "/blobs", 2000);
    EXPECT_TRUE(folder.ok());
    return std::move(*folder);
  }
  std::string kept() { return *env.read_file("/blobs/" + blob.digest); }
  bool part() { return env.file_size("/blobs/" + blob.digest + ".part") >= 0; }

  base::FaultEnv env;
  FakeServer server;
  std::string content;
  Blob blob;
};

TEST_F(Blobs, ComesOnceAndIsWhole) {
  BlobFolder folder = opened();
  EXPECT_FALSE(*folder.has(blob));
  EXPECT_EQ(*folder.fetch(server, kFile, blob), content.size());
  EXPECT_EQ(kept(), content);
  EXPECT_FALSE(part());
  EXPECT_TRUE(*folder.has(blob));
  EXPECT_EQ(*folder.fetch(server, kFile, blob), 0u);
  EXPECT_EQ(server.asked.size(), 1u);
}

TEST_F(Blobs, ACutTransferGoesOnBehindItsLastByte) {
  // Nothing, one byte, around pieces, around checkpoints, all but one.
  for (const size_t cut : {0u, 1u, 999u, 1000u, 1001u, 1999u, 2000u, 2001u, 4000u, 9999u}) {
    env = {};
    BlobFolder folder = opened();
    server.cut[kFile] = cut;
    ASSERT_FALSE(folder.fetch(server, kFile, blob).ok()) << cut;
    EXPECT_FALSE(*folder.has(blob)) << cut;
    server.cut.clear();
    const auto came = opened().fetch(server, kFile, blob);
    ASSERT_TRUE(came.ok()) << cut << ": " << came.error().message();
    EXPECT_EQ(*came, content.size() - cut);
    EXPECT_EQ(kept(), content) << cut;
    EXPECT_FALSE(part());
  }
}

TEST_F(Blobs, AProcessThatDiedGoesOnBehindItsLastCheckpoint) {
  // kill -9 and a lost power supply, at every write.
  std::vector<std::unique_ptr<base::FaultEnv>> left;
  env.before_writes([&] { left.push_back(env.copy()); });
  ASSERT_TRUE(opened().fetch(server, kFile, blob).ok());
  ASSERT_GT(left.size(), 8u);
  for (const bool power : {false, true}) {
    for (auto& state : left) {
      const std::unique_ptr<base::FaultEnv> now = state->copy();
      if (power) now->lose_power(1, 0.5);
      auto folder = BlobFolder::open(*now, **Crypto::system(), "/blobs", 2000);
      const auto came = folder->fetch(server, kFile, blob);
      ASSERT_TRUE(came.ok()) << came.error().message();
      EXPECT_EQ(*now->read_file("/blobs/" + blob.digest), content);
    }
  }
}

TEST_F(Blobs, WrongBytesAreNotKeptAndNotGoneOnWith) {
  BlobFolder folder = opened();
  server.cut[kFile] = 5000;
  ASSERT_FALSE(folder.fetch(server, kFile, blob).ok());
  server.cut.clear();
  server.files[kFile][6000] ^= 1;
  const auto came = folder.fetch(server, kFile, blob);
  ASSERT_FALSE(came.ok());
  EXPECT_NE(came.error().message().find("another digest"), std::string::npos);
  EXPECT_LT(env.file_size("/blobs/" + blob.digest), 0);
  EXPECT_FALSE(part());
  server.files[kFile] = content;
  EXPECT_EQ(*folder.fetch(server, kFile, blob), content.size());
}

TEST_F(Blobs, AWrongBeginningCostsTheTransferAndNoMore) {
  BlobFolder folder = opened();
  server.files[kFile][10] ^= 1;
  server.cut[kFile] = 5000;
  ASSERT_FALSE(folder.fetch(server, kFile, blob).ok());
  server.cut.clear();
  server.files[kFile] = content;
  ASSERT_FALSE(folder.fetch(server, kFile, blob).ok());
  EXPECT_EQ(*folder.fetch(server, kFile, blob), content.size());
  EXPECT_EQ(kept(), content);
}

TEST_F(Blobs, EndlessAndShortRepliesEnd) {
  BlobFolder folder = opened();
  server.endless = kFile;
  const auto endless = folder.fetch(server, kFile, blob);
  ASSERT_FALSE(endless.ok());
  EXPECT_NE(endless.error().message().find("more bytes"), std::string::npos);
  EXPECT_LE(server.sent, content.size() + 4096);
  server.endless.clear();
  server.files[kFile] = content.substr(0, 7000);
  const auto is_short = folder.fetch(server, kFile, blob);
  ASSERT_FALSE(is_short.ok());
  EXPECT_NE(is_short.error().message().find("7000 bytes"), std::string::npos);
  server.files[kFile] = content;
  EXPECT_EQ(*folder.fetch(server, kFile, blob), 3000u);
  EXPECT_EQ(kept(), content);
}

TEST_F(Blobs, AMissingFileIsAnError) {
  server.files.clear();
  const auto came = opened().fetch(server, kFile, blob);
  ASSERT_FALSE(came.ok());
  EXPECT_NE(came.error().message().find("404"), std::string::npos);
}

TEST_F(Blobs, AFullDiskLeavesNothingThatLooksWhole) {
  env.limit_disk(5000);
  BlobFolder folder = opened();
  EXPECT_FALSE(folder.fetch(server, kFile, blob).ok());
  env.limit_disk(-1);
  EXPECT_FALSE(*folder.has(blob));
  EXPECT_EQ(*folder.fetch(server, kFile, blob), content.size());
}

TEST_F(Blobs, EveryFailingOperationIsAnErrorAndTheNextTryWorks) {
  for (int64_t at = 0;; ++at) {
    env = {};
    BlobFolder folder = opened();
    const int64_t before = env.operations();
    env.fail_at(at);
    const bool came = folder.fetch(server, kFile, blob).ok();
    const bool reached = env.operations() - before > at;
    env.fail_at(-1);
    ASSERT_TRUE(opened().fetch(server, kFile, blob).ok()) << at;
    EXPECT_EQ(kept(), content);
    if (came && !reached) break;
    ASSERT_LT(at, 1000);
  }
}

TEST_F(Blobs, ADamagedFileIsFetchedAnewUnderAnotherInode) {
  BlobFolder folder = opened();
  ASSERT_TRUE(folder.fetch(server, kFile, blob).ok());
  env.file("/blobs/" + blob.digest)[3] ^= 1;
  EXPECT_FALSE(*folder.has(blob));
  EXPECT_LT(env.file_size("/blobs/" + blob.digest), 0) << "removed, not written over";
  EXPECT_EQ(*folder.fetch(server, kFile, blob), content.size());
}

TEST_F(Blobs, AFlippedPartFileIsNotBelieved) {
  BlobFolder folder = opened();
  server.cut[kFile] = 5000;
  ASSERT_FALSE(folder.fetch(server, kFile, blob).ok());
  const std::string part_path = "/blobs/" + blob.digest + ".part";
  const std::string whole = env.file(part_path);
  server.cut.clear();
  for (size_t byte = 0; byte < whole.size(); ++byte) {
    const std::unique_ptr<base::FaultEnv> now = env.copy();
    now->file(part_path)[byte] ^= 0x10;
    auto here = BlobFolder::open(*now, **Crypto::system(), "/blobs", 2000);
    EXPECT_EQ(*here->fetch(server, kFile, blob), content.size()) << "byte " << byte;
  }
}

TEST_F(Blobs, AnEmptyFileIsAFile) {
  server.files[kFile] = "";
  const Blob empty{FakeRepository::sha256(""), 0};
  EXPECT_EQ(*opened().fetch(server, kFile, empty), 0u);
  EXPECT_TRUE(*opened().has(empty));
  EXPECT_FALSE(opened().fetch(server, kFile, {blob.digest, 0}).ok());
}

TEST_F(Blobs, SweepsWhatIsNotNamed) {
  BlobFolder folder = opened();
  ASSERT_TRUE(folder.fetch(server, kFile, blob).ok());
  const std::string other = "another content";
  server.files["mem://other"] = other;
  const Blob gone{FakeRepository::sha256(other), other.size()};
  ASSERT_TRUE(folder.fetch(server, "mem://other", gone).ok());
  folder.sweep({blob.digest});
  EXPECT_TRUE(*folder.has(blob));
  EXPECT_FALSE(*folder.has(gone));
}

}  // namespace
}  // namespace walle::link
