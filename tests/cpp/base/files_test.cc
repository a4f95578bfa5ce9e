// The file seam on the real disk, mapped files, and the seam's double that loses power.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "base/env.h"
#include "base/fault_env.h"
#include "base/mapped_file.h"

namespace walle::base {
namespace {

class Folder {
 public:
  Folder() {
    char name[] = "/tmp/walle_files_XXXXXX";
    path_ = mkdtemp(name);
  }
  ~Folder() {
    if (std::system(("rm -rf '" + path_ + "'").c_str()) != 0) ADD_FAILURE() << "cannot remove " << path_;
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// One contract for both: what the tests of durable parts rely on.
void keeps_the_contract(Env& env, const std::string& dir) {
  ASSERT_TRUE(env.make_dirs(dir + "/a/b").ok());
  ASSERT_TRUE(env.make_dirs(dir + "/a/b").ok());
  const std::string path = dir + "/a/b/file";
  EXPECT_EQ(env.file_size(path), -1);
  EXPECT_FALSE(env.read_file(path).ok());
  ASSERT_TRUE(env.replace_file(path, "first").ok());
  ASSERT_TRUE(env.replace_file(path, std::string("sec\0nd", 6)).ok());
  ASSERT_TRUE(env.read_file(path).ok());
  EXPECT_EQ(*env.read_file(path), std::string("sec\0nd", 6));
  EXPECT_EQ(*env.read_prefix(path, 4), std::string("sec\0", 4));
  EXPECT_EQ(*env.read_prefix(path, 100), std::string("sec\0nd", 6));
  EXPECT_FALSE(env.read_prefix(path + "absent", 4).ok());
  EXPECT_EQ(env.file_size(path), 6);
  ASSERT_TRUE(env.replace_file(dir + "/a/b/empty", "").ok());
  const auto names = env.list_files(dir + "/a/b");
  ASSERT_TRUE(names.ok());
  EXPECT_EQ(*names, (std::vector<std::string>{"empty", "file"}));
  ASSERT_TRUE(env.remove_file(path).ok());
  EXPECT_EQ(env.file_size(path), -1);

  {
    auto map = env.map_writable(dir + "/a/map", 4096);
    ASSERT_TRUE(map.ok()) << map.error().message();
    EXPECT_EQ((*map)->bytes().size(), 4096u);
    std::memcpy((*map)->bytes().data() + 100, "stored", 6);
    ASSERT_TRUE((*map)->sync(0, 4096).ok());
    const auto second = env.map_writable(dir + "/a/map", 4096);
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().group(), ErrorGroup::resource);
  }
  auto again = env.map_writable(dir + "/a/map", 4096);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(std::memcmp((*again)->bytes().data() + 100, "stored", 6), 0);
  EXPECT_GT(env.wall_us(), int64_t{1'600'000'000'000'000});
  const int64_t earlier = env.steady_us();  // the arguments of one call have no order
  EXPECT_LE(earlier, env.steady_us());
}

TEST(Env, OfTheSystem) {
  const Folder folder;
  keeps_the_contract(Env::system(), folder / "env");
}

TEST(Env, OfTheTests) {
  FaultEnv env;
  keeps_the_contract(env, "/env");
}

TEST(Env, ReplacingNeverLeavesHalfAFile) {
  const Folder folder;
  const std::string path = folder / "kept";
  ASSERT_TRUE(Env::system().replace_file(path, "old").ok());
  const Status status = Env::system().replace_file(folder / "no/such/folder/file", "new");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().group(), ErrorGroup::resource);
  EXPECT_NE(status.error().message().find("no/such/folder"), std::string::npos);
  EXPECT_EQ(*Env::system().read_file(path), "old");
  EXPECT_EQ(*Env::system().list_files(folder / ""), std::vector<std::string>{"kept"})
      << "a temporary file was left behind";
}

unsigned mode_of(const std::string& path) {
  struct stat info{};
  EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 0777;
}

TEST(Env, ANewFileIsReadableAsTheUmaskSaysAndAnOldOneKeepsItsMode) {
  const Folder folder;
  const std::string path = folder / "shared";
  const auto save = [&](const std::string& to) {
    return Env::system().replace_file(to, 3, FileAccess::umask, [](FileWriter& out) {
      return out.write(0, std::as_bytes(std::span("new", 3)));
    });
  };
  const mode_t before = umask(027);
  ASSERT_TRUE(save(path).ok());
  EXPECT_EQ(mode_of(path), 0640u);
  ASSERT_EQ(chmod(path.c_str(), 0604), 0);
  ASSERT_TRUE(save(path).ok());
  EXPECT_EQ(mode_of(path), 0604u);
  ASSERT_TRUE(Env::system().replace_file(folder / "own", "secret").ok());
  EXPECT_EQ(mode_of(folder / "own"), 0600u);
  umask(before);

  ASSERT_EQ(symlink("shared", (folder / "link").c_str()), 0);
  ASSERT_EQ(symlink("to_come", (folder / "ahead").c_str()), 0);
  ASSERT_TRUE(save(folder / "link").ok());
  ASSERT_TRUE(save(folder / "ahead").ok());
  EXPECT_EQ(*Env::system().read_file(folder / "to_come"), "new");
  struct stat info{};
  ASSERT_EQ(lstat((folder / "link").c_str(), &info), 0);
  EXPECT_TRUE(S_ISLNK(info.st_mode));
  EXPECT_FALSE(
      Env::system()
          .replace_file(folder / "no/where", 0, FileAccess::umask, [](FileWriter&) { return Status(); })
          .ok());
}

TEST(Env, ANewFileThatCannotBeFilledLeavesTheOldOne) {
  const Folder folder;
  const std::string path = folder / "kept";
  ASSERT_TRUE(Env::system().replace_file(path, "old").ok());
  const Status failed = Env::system().replace_file(path, 3, FileAccess::umask, [](FileWriter& out) {
    return out.write(2, std::as_bytes(std::span("new", 3)));
  });
  EXPECT_FALSE(failed.ok());
  EXPECT_EQ(*Env::system().read_file(path), "old");
  EXPECT_EQ(*Env::system().list_files(folder / ""), std::vector<std::string>{"kept"});
}

TEST(FaultEnv, LosesWhatWasNotSyncedAndFailsWhenTold) {
  FaultEnv env;
  ASSERT_TRUE(env.replace_file("/kept", "durable").ok());
  {
    auto map = env.map_writable("/map", 1024);
    ASSERT_TRUE(map.ok());
    ASSERT_TRUE((*map)->sync(0, 1024).ok());
    std::memcpy((*map)->bytes().data(), "volatile", 8);
  }
  env.lose_power();
  EXPECT_EQ(*env.read_file("/kept"), "durable");
  EXPECT_EQ(env.read_file("/map")->substr(0, 8), std::string(8, '\0'));
  env.fail_at(0);
  EXPECT_FALSE(env.replace_file("/kept", "never").ok());
  EXPECT_EQ(*env.read_file("/kept"), "durable");
  env.set_read_only(true);
  EXPECT_FALSE(env.replace_file("/kept", "never").ok());
  env.set_read_only(false);
  env.limit_disk(100);
  EXPECT_FALSE(env.replace_file("/large", std::string(4096, 'x')).ok());
}

TEST(MappedFile, ShowsTheBytesAndOutlivesTheName) {
  const Folder folder;
  const std::string path = folder / "data";
  std::ofstream(path) << "mapped bytes";
  auto file = MappedFile::open(path);
  ASSERT_TRUE(file.ok());
  unlink(path.c_str());
  EXPECT_EQ(std::memcmp((*file)->bytes().data(), "mapped bytes", 12), 0);
  EXPECT_EQ((*file)->bytes().size(), 12u);
}

std::string large(char fill) { return std::string(MappedFile::kReadWholeBytes + 100'000, fill); }

TEST(MappedFile, TellsAFileThatWasWrittenToFromOneThatWasReplaced) {
  const Folder folder;
  const std::string path = folder / "data";
  std::ofstream(path) << large('a');
  const auto replaced = MappedFile::open(path);
  ASSERT_TRUE((*replaced)->mapped() && (*replaced)->unchanged().ok());
  ASSERT_TRUE(Env::system().replace_file(path, large('b')).ok());
  EXPECT_TRUE((*replaced)->unchanged().ok());
  EXPECT_EQ((*replaced)->bytes().back(), std::byte{'a'});

  const auto cut = MappedFile::open(path);
  ASSERT_EQ(truncate(path.c_str(), 5000), 0);
  const Status said = (*cut)->unchanged();
  ASSERT_FALSE(said.ok());
  EXPECT_NE(said.error().message().find("cut from"), std::string::npos) << said.error().message();
  EXPECT_NE(said.error().message().find(path), std::string::npos);

  ASSERT_TRUE(Env::system().replace_file(path, large('c')).ok());
  const auto written = MappedFile::open(path);
  usleep(20'000);  // the clock of file times is coarser than one write
  std::fstream(path, std::ios::in | std::ios::out).write("x", 1);
  EXPECT_FALSE((*written)->unchanged().ok());
}

TEST(MappedFile, ASmallFileIsReadAndNothingLaterMatters) {
  const Folder folder;
  const std::string path = folder / "data";
  std::ofstream(path) << std::string(100'000, 'a');
  const auto file = MappedFile::open(path);
  ASSERT_FALSE((*file)->mapped());
  ASSERT_EQ(truncate(path.c_str(), 0), 0);
  EXPECT_TRUE((*file)->unchanged().ok());
  (*file)->drop((*file)->bytes().data(), (*file)->bytes().size());
  EXPECT_EQ((*file)->bytes().back(), std::byte{'a'});
}

TEST(MappedFile, DroppedPagesComeBackWhileOthersRead) {
  const Folder folder;
  const std::string path = folder / "data";
  std::ofstream(path) << large('a');
  const auto file = MappedFile::open(path);
  const auto bytes = (*file)->bytes();
  std::thread dropping([&] {
    for (int i = 0; i < 200; ++i) (*file)->drop(bytes.data() + i, bytes.size() - i);
  });
  for (int i = 0; i < 20; ++i)
    ASSERT_TRUE(std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{'a'}; }));
  dropping.join();
  EXPECT_EQ(bytes.back(), std::byte{'a'});
}

// Bytes of the file that are this process's memory.
size_t resident(const std::string& path) {
  std::ifstream maps("/proc/self/smaps");
  size_t sum = 0;
  bool ours = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.find(" kB") == std::string::npos) ours = line.ends_with(path);
    if (ours && line.starts_with("Rss:")) sum += std::stoul(line.substr(4)) << 10;
  }
  return sum;
}

// Where the page cache holds a file in large folios, one byte read beside them would bring 2 MiB back.
TEST(MappedFile, DroppedPagesStayAwayWhenTheirNeighboursAreRead) {
  const Folder folder;
  const std::string path = folder / "data";
  constexpr size_t kPart = size_t{1} << 20, kParts = 16, kKept = 4096;
  std::ofstream(path) << std::string(kParts * kPart, 'a');
  const auto file = MappedFile::open(path);
  const auto bytes = (*file)->bytes();
  ASSERT_TRUE(std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{'a'}; }));
  if (resident(path) == 0) GTEST_SKIP() << "no /proc/self/smaps";
  for (size_t i = 0; i < kParts; ++i) (*file)->drop(bytes.data() + i * kPart, kPart - kKept);
  for (size_t i = 1; i <= kParts; ++i) ASSERT_EQ(bytes[i * kPart - 1], std::byte{'a'});
  EXPECT_LE(resident(path), kParts * kPart / 4);
}

TEST(MappedFile, RefusesWhatIsNoFile) {
  const Folder folder;
  std::ofstream(folder / "empty").close();
  auto empty = MappedFile::open(folder / "empty");
  ASSERT_TRUE(empty.ok());
  EXPECT_TRUE((*empty)->bytes().empty());
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  for (const std::string& path :
       {folder / "absent", folder / "", folder / "pipe", std::string("/dev/null")}) {
    const auto file = MappedFile::open(path);
    ASSERT_FALSE(file.ok()) << path;
    EXPECT_EQ(file.error().group(), ErrorGroup::resource);
    EXPECT_NE(file.error().message().find(path), std::string::npos);
  }
}

}  // namespace
}  // namespace walle::base
