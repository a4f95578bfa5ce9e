// Packages: what is packed is read, the same everywhere; what means nothing is refused by name, and no bytes
// do harm.
#include "link/package/package.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "base/bytes.h"
#include "link/crypto.h"
#include "seed.h"

namespace walle::link {
namespace {

std::string digest(char fill) { return std::string(kSha256Bytes, fill); }

Package whole() {
  Package p;
  p.scenario = "shop";
  p.task = "rank";
  p.version = "1.2.3";
  p.vm = "cpython-3.13.5/walle-2";
  p.op_set = "0123456789abcdef";
  p.ram_bytes = 33'554'432;
  p.facts = {"charging", "idle"};
  p.capabilities = {"walle.engine", "walle.kv"};
  p.imports = {"json"};
  p.files = {{std::string(kCodeName), digest('c'), 1000, FileKind::code},
             {std::string(kTaskManifestName), digest('m'), 200, FileKind::policy},
             {"models/encoder.walle", digest('w'), uint64_t{1} << 20, FileKind::resource},
             {"words.txt", digest('t'), 0, FileKind::resource}};
  return p;
}

std::string packed(const Package& p) {
  const Result<std::string> bytes = pack_package(p);
  EXPECT_TRUE(bytes.ok()) << bytes.error().message();
  return bytes.ok() ? *bytes : std::string();
}

bool same(const Package& a, const Package& b) {
  const auto files = [](const Package& p) {
    std::string out;
    for (const PackageFile& f : p.files)
      out += f.name + "|" + f.sha256 + "|" + std::to_string(f.size) + std::to_string(int(f.kind)) + "\n";
    return out;
  };
  return a.scenario == b.scenario && a.task == b.task && a.version == b.version && a.vm == b.vm &&
         a.op_set == b.op_set && a.ram_bytes == b.ram_bytes && a.facts == b.facts &&
         a.capabilities == b.capabilities && a.imports == b.imports && files(a) == files(b);
}

TEST(Package, WhatIsPackedIsRead) {
  const std::string bytes = packed(whole());
  const Result<Package> read = read_package(bytes);
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_TRUE(same(*read, whole()));
  EXPECT_EQ(packed(*read), bytes);
  EXPECT_EQ(read->path(), "shop/rank/rank-1.2.3.walp");
  EXPECT_EQ(read->find("words.txt")->sha256, digest('t'));
  EXPECT_EQ(read->find("words"), nullptr);
  // From an address that is no multiple of 8.
  const std::string shifted = "x" + bytes;
  EXPECT_TRUE(read_package(std::string_view(shifted).substr(1)).ok());
}

// The package digest is what versions are compared by: a build whose bytes differ would refuse what others
// have published.
TEST(Package, TheBytesAreTheSameEverywhere) {
  const Result<const Crypto*> crypto = Crypto::system();
  if (!crypto.ok()) GTEST_SKIP() << crypto.error().message();
  EXPECT_EQ(*digest_hex(**crypto, DigestKind::sha256, packed(whole())),
            "7bf6c1fcb92a96fefb88708c1b83652b39d68652289dc6faefc7ce3502f059e9");
}

TEST(Package, WhatTwoFilesShareCountsOnce) {
  Package p = whole();
  p.files.push_back({"zoo.walle", digest('w'), uint64_t{1} << 20, FileKind::resource});
  EXPECT_EQ(p.content_bytes(), whole().content_bytes());
  EXPECT_EQ(p.content_bytes(), 1200u + (1 << 20));
  EXPECT_TRUE(verify_package(p).ok());
}

TEST(Package, WhatMeansNothingIsRefusedByName) {
  struct Wrong {
    const char* says;
    std::function<void(Package&)> change;
  };
  const Wrong all[] = {
      {"scenario ''", [](Package& p) { p.scenario = ""; }},
      {"scenario '../x'", [](Package& p) { p.scenario = "../x"; }},
      {"scenario 'Shop'", [](Package& p) { p.scenario = "Shop"; }},
      {"task '1'", [](Package& p) { p.task = "1"; }},
      {"task 'a/b'", [](Package& p) { p.task = "a/b"; }},
      {"version '1.2'", [](Package& p) { p.version = "1.2"; }},
      {"VM ''", [](Package& p) { p.vm = ""; }},
      {"VM 'a b'", [](Package& p) { p.vm = "a b"; }},
      {"set of operators 'A'", [](Package& p) { p.op_set = "A"; }},
      {"fact ''", [](Package& p) { p.facts = {""}; }},
      {"facts that are not sorted", [](Package& p) { p.facts = {"b", "a"}; }},
      {"capabilities that are not sorted", [](Package& p) { p.capabilities = {"a", "a"}; }},
      {"host call 'a b'", [](Package& p) { p.capabilities = {"a b"}; }},
      {"257 imports", [](Package& p) { p.imports.assign(257, "a"); }},
      {"file '/etc/passwd'", [](Package& p) { p.files[3].name = "/etc/passwd"; }},
      {"file 'a/../b'", [](Package& p) { p.files[3].name = "a/../b"; }},
      {"file 'a\\b'", [](Package& p) { p.files[3].name = "a\\b"; }},
      {"file '.walle/x' of kind 1", [](Package& p) { p.files[3].name = ".walle/x"; }},
      {"file 'words.txt' of kind 0", [](Package& p) { p.files[3].kind = FileKind::code; }},
      {"file 'words.txt' of kind 2", [](Package& p) { p.files[3].kind = FileKind::policy; }},
      {"file 'words.txt' of kind 9", [](Package& p) { p.files[3].kind = static_cast<FileKind>(9); }},
      {"a digest of 31 bytes", [](Package& p) { p.files[3].sha256.pop_back(); }},
      {"out of order, or twice", [](Package& p) { p.files[3].name = "models/encoder.walle"; }},
      {"out of order, or twice", [](Package& p) { p.files[3].name = "a"; }},
      {"another size than one with its digest", [](Package& p) { p.files[3].sha256 = digest('w'); }},
      {"no file '.walle/code'", [](Package& p) { p.files.erase(p.files.begin()); }},
      {"no file '.walle/manifest'", [](Package& p) { p.files.erase(p.files.begin() + 1); }},
      {"file '.walle/code' of 67108865 bytes", [](Package& p) { p.files[0].size = kMostCodeBytes + 1; }},
      {"file '.walle/manifest' of", [](Package& p) { p.files[1].size = kMostPolicyBytes + 1; }},
      {"file 'words.txt' of", [](Package& p) { p.files[3].size = kMostContentBytes + 1; }},
      {"together", [](Package& p) { p.files[3].size = kMostContentBytes; }},
      {"4097 files",
       [](Package& p) {
         for (int i = 0; i < 4093; ++i)
           p.files.push_back({"z" + std::to_string(10'000 + i), digest('z'), 0, FileKind::resource});
       }},
  };
  for (const Wrong& wrong : all) {
    Package p = whole();
    wrong.change(p);
    const Status refused = verify_package(p);
    ASSERT_FALSE(refused.ok()) << wrong.says;
    EXPECT_NE(refused.error().message().find(wrong.says), std::string::npos) << refused.error().message();
    EXPECT_FALSE(pack_package(p).ok()) << wrong.says;
  }
}

// The limits themselves are allowed.
TEST(Package, BoundsAreInclusive) {
  Package p = whole();
  p.scenario = std::string(64, 'a');
  p.task = std::string(64, 'a');
  p.files[0].size = kMostCodeBytes;
  p.files[1].size = kMostPolicyBytes;
  p.files[3].size = kMostContentBytes - p.files[0].size - p.files[1].size - p.files[2].size;
  for (int i = 0; i < 4092; ++i)
    p.files.push_back({"z" + std::to_string(10'000 + i), digest('z'), 0, FileKind::resource});
  EXPECT_TRUE(verify_package(p).ok()) << verify_package(p).error().message();
  EXPECT_TRUE(read_package(packed(p)).ok());
}

TEST(Package, OneThatIsTooLargeIsNeitherWrittenNorRead) {
  Package p = whole();
  for (int i = 0; i < 4092; ++i) {
    const std::string name = "z" + std::to_string(10'000 + i) + std::string(240, 'x');
    p.files.push_back({name, digest('z'), 0, FileKind::resource});
  }
  const Result<std::string> bytes = pack_package(p);
  ASSERT_FALSE(bytes.ok());
  EXPECT_NE(bytes.error().message().find("at most 1048576"), std::string::npos) << bytes.error().message();
  EXPECT_FALSE(read_package(std::string(kMostPackageBytes + 1, 'x')).ok());
}

TEST(Package, EveryFlippedBitAndEveryCutIsRefused) {
  const std::string good = packed(whole());
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(read_package(bad).ok()) << "bit " << bit;
  }
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(read_package(std::string_view(good).substr(0, size)).ok()) << size << " bytes";
  EXPECT_FALSE(read_package(good + '\0').ok());
}

std::string with_checksum(std::string_view table) {
  base::ByteWriter out;
  out.put_bytes(table);
  out.put_checksum();
  return out.take();
}

// Whoever alters a manifest on purpose alters its checksum, too: what is then read still means something.
TEST(Package, AlterationsUnderAGoodChecksumAreSurvived) {
  const std::string good = packed(whole());
  const std::string table = good.substr(0, good.size() - 4);
  ASSERT_EQ(with_checksum(table), good);
  size_t refused = 0;
  for (size_t bit = 0; bit < 8 * table.size(); ++bit) {
    std::string bad = table;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    const Result<Package> read = read_package(with_checksum(bad));
    refused += !read.ok();
    if (read.ok()) {
      EXPECT_TRUE(verify_package(*read).ok()) << "bit " << bit;
    }
  }
  EXPECT_GT(refused, table.size());
  std::mt19937 random(test_seed());
  for (int round = 0; round < 2000; ++round) {
    std::string bad = table.substr(0, round % 2 == 0 ? table.size() : random() % table.size());
    for (int n = 1 + static_cast<int>(random() % 8); n > 0 && !bad.empty(); --n)
      bad[random() % bad.size()] = static_cast<char>(random());
    const Result<Package> read = read_package(with_checksum(bad));
    if (read.ok()) {
      EXPECT_TRUE(verify_package(*read).ok());
    }
  }
}

}  // namespace
}  // namespace walle::link
