// The file seam on the real disk, mapped files, and the seam's double that loses power.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>

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
