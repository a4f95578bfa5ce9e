// Packages on a device: installed from parts, replaced while it runs; whatever is wrong with one, the version
// that is there goes on.
#include <fstream>

#include "base/fault_env.h"
#include "container/package_case.h"

namespace walle::container {
namespace {

TEST_F(PackageTest, IsInstalledRunsAndIsReplacedWhileItRuns) {
  open();
  const Packed one = pack(with_table(manifest("rank", "1.0.0")), source(1));
  must_install(one);
  EXPECT_EQ(info("rank").package, *package_digest(one.manifest()));
  tap(1);
  ASSERT_TRUE(core_->wait_idle(kPatienceUs));
  must_install(pack(with_table(manifest("rank", "1.1.0")), source(2)));
  tap(2);
  ASSERT_TRUE(core_->wait_idle(kPatienceUs));
  EXPECT_EQ(texts("rank"), (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(info("rank").version, "1.1.0");
  EXPECT_EQ(info("rank").replaced, 1u);
  // The former version's parts are gone; a bundle may take its place.
  EXPECT_EQ(parts().size(), 2u);
  install(with_table(manifest("rank", "1.2.0")), source(3));
  EXPECT_EQ(info("rank").package, "");
  EXPECT_TRUE(parts().empty());
}

TEST_F(PackageTest, SurvivesARestartWithoutTheFolderItCameFrom) {
  open();
  must_install(pack(with_table(manifest("rank")), source(1), {{"data.bin", std::string(3 << 20, 'd')}}));
  fs::remove_all(blobs_);
  core_.reset();
  open();
  tap(7);
  ASSERT_TRUE(core_->wait_idle(kPatienceUs));
  EXPECT_EQ(items("rank"), std::vector<int64_t>{7});
}

TEST_F(PackageTest, FilesAreLinkedAndWhatTasksShareIsThereOnce) {
  open();
  const std::string model(2 << 20, 'm');
  const std::string digest = *package_digest(model);
  must_install(pack(with_table(manifest("a")), source(1), {{"m.bin", model}, {"twin.bin", model}}));
  EXPECT_TRUE(fs::equivalent(dir_ + "/tasks/parts/" + digest, blobs_ + "/" + digest));
  must_install(pack(with_table(manifest("b")), source(1), {{"other/name.bin", model}}));
  // The code is the same, too; the manifests differ.
  EXPECT_EQ(parts().size(), 4u);
  ASSERT_TRUE(core_->remove("a").ok());
  EXPECT_EQ(parts().size(), 3u);
  EXPECT_TRUE(fs::exists(dir_ + "/tasks/parts/" + digest));
  ASSERT_TRUE(core_->remove("b").ok());
  EXPECT_TRUE(parts().empty());
}

TEST_F(PackageTest, ALinkThatLeadsElsewhereIsCopied) {
  open();
  const Packed one = pack(with_table(manifest("rank")), source(1), {{"d.bin", "data"}});
  lay_out(one);
  const std::string digest = *package_digest("data");
  fs::rename(blobs_ + "/" + digest, blobs_ + "/elsewhere");
  fs::create_symlink(blobs_ + "/elsewhere", blobs_ + "/" + digest);
  ASSERT_TRUE(core_->install_package(one.manifest(), blobs_).ok());
  EXPECT_FALSE(fs::is_symlink(dir_ + "/tasks/parts/" + digest));
  EXPECT_FALSE(fs::equivalent(dir_ + "/tasks/parts/" + digest, blobs_ + "/elsewhere"));
}

// Each of these is refused by name, and version 1 goes on.
TEST_F(PackageTest, WhateverIsWrongTheVersionThatIsThereGoesOn) {
  open();
  must_install(pack(with_table(manifest("rank", "1.0.0")), source(1), {{"d.bin", "old data"}}));
  const std::vector<std::string> before = parts();
  const std::string digest = *package_digest("new data");
  const auto path = [&] { return blobs_ + "/" + digest; };
  const auto write = [](const std::string& to, const std::string& bytes) { std::ofstream(to) << bytes; };
  struct Wrong {
    const char* says;
    std::function<void(Packed&)> change;       // before the manifest is packed
    std::function<void(std::string&)> damage;  // of the folder and the manifest's bytes
  };
  const auto nothing = [](auto&) {};
  const Wrong all[] = {
      {"no file '", nothing, [&](std::string&) { fs::remove(path()); }},
      {"of 9 bytes", nothing, [&](std::string&) { write(path(), "new data!"); }},
      {"of 0 bytes", nothing, [&](std::string&) { write(path(), ""); }},
      {"with SHA-256", nothing, [&](std::string&) { write(path(), "New data"); }},
      {"with SHA-256", nothing,
       [&](std::string&) {
         fs::copy_file(blobs_ + "/" + *package_digest("old data"), path(),
                       fs::copy_options::overwrite_existing);
       }},
      {"checksum", nothing, [](std::string& manifest) { manifest[manifest.size() / 2] ^= 1; }},
      {"a manifest of", nothing, [](std::string& manifest) { manifest.resize(9); }},
      {"more than 1048576", nothing, [](std::string& manifest) { manifest.resize(2 << 20); }},
      {"code for the VM", [](Packed& p) { p.package.vm = "cpython-3.12.0/walle-2"; }, nothing},
      {"capabilities that are not", [](Packed& p) { p.package.capabilities.pop_back(); }, nothing},
      {"host call", [](Packed& p) { p.package.capabilities = {"walle.secrets"}; }, nothing},
      {"imports that are not", [](Packed& p) { p.package.imports = {"json"}; }, nothing},
      {"facts that are not", [](Packed& p) { p.package.facts = {"idle"}; }, nothing},
      {"version '9.9.9'", [](Packed& p) { p.package.version = "9.9.9"; }, nothing},
      {"task 'other'", [](Packed& p) { p.package.task = "other"; }, nothing},
      {"bytecode",
       [&](Packed& p) {
         auto& files = p.package.files;
         std::swap(files[0].sha256, files[1].sha256);  // code and manifest
         std::swap(files[0].size, files[1].size);
       },
       nothing},
  };
  int64_t item = 0;
  for (const Wrong& wrong : all) {
    SCOPED_TRACE(wrong.says);
    fs::remove_all(blobs_);
    Packed next = pack(with_table(manifest("rank", "2.0.0")), source(2), {{"d.bin", "new data"}});
    lay_out(pack(with_table(manifest("rank", "1.0.0")), source(1), {{"d.bin", "old data"}}));
    lay_out(next);
    wrong.change(next);
    std::string bytes = next.manifest();
    wrong.damage(bytes);
    const Result<std::string> refused = core_->install_package(bytes, blobs_);
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().message().find(wrong.says), std::string::npos) << refused.error().message();
    EXPECT_EQ(parts(), before);
    tap(++item);
    ASSERT_TRUE(core_->wait_idle(kPatienceUs));
    EXPECT_EQ(info("rank").version, "1.0.0");
    EXPECT_EQ(texts("rank").back(), "1");
    EXPECT_EQ(items("rank").back(), item);
  }
}

TEST_F(PackageTest, SuitsIsToldBeforeAnythingIsFetched) {
  open();
  Packed one = pack(with_table(manifest("rank")), source(1));
  EXPECT_TRUE(core_->suits(one.manifest()).ok());
  one.package.vm = "cpython-9.9.9/walle-9";
  EXPECT_FALSE(core_->suits(one.manifest()).ok());
}

TEST_F(PackageTest, ADamagedPartBreaksItsTaskAndIsReplacedByTheNextInstall) {
  open();
  const Packed one = pack(with_table(manifest("rank")), source(1), {{"d.bin", "data"}});
  must_install(one);
  install(with_table(manifest("other")), source(1));
  core_.reset();
  const std::string part = dir_ + "/tasks/parts/" + *package_digest("data");
  fs::remove(part);
  std::ofstream(part) << "dota";
  open();
  EXPECT_EQ(info("rank").status, TaskStatus::broken);
  EXPECT_EQ(info("other").status, TaskStatus::idle);
  must_install(one);
  tap(1);
  ASSERT_TRUE(core_->wait_idle(kPatienceUs));
  EXPECT_EQ(items("rank"), std::vector<int64_t>{1});
}

// Files in memory: no second names there, so that this is the way of a device that copies.
class PackageFaultsTest : public PackageTest {
 protected:
  void SetUp() override {
    PackageTest::SetUp();
    options_.background = false;
    options_.workers = 1;
    options_.ready_isolates = 0;
    options_.warm_imports = {};
    options_.commits.journal_bytes = 64 << 10;
    options_.processor.log.journal_bytes = 64 << 10;
  }
  void prepare(base::FaultEnv& env) {
    env_ = &env;
    const std::string data(100'000, 'x');
    one_ = pack(with_table(manifest("rank", "1.0.0")), source(1), {{"d.bin", data + "1"}});
    two_ = pack(with_table(manifest("rank", "2.0.0")), source(2), {{"d.bin", data + "2"}});
    open();
    must_install(one_);
    lay_out(two_);
  }
  // One version, whole, runs; which one.
  std::string running() {
    tap(1);
    EXPECT_TRUE(core_->wait_idle(kPatienceUs));
    const std::vector<std::string> rows = texts("rank");
    const std::string version = info("rank").version;
    EXPECT_EQ(rows.empty() ? "" : rows.back() + ".0.0", version) << info("rank").error;
    return version;
  }
  Packed one_, two_;
};

TEST_F(PackageFaultsTest, AnyOperationOfAnInstallMayFail) {
  int64_t operations = 0;
  {
    base::FaultEnv env;
    prepare(env);
    const int64_t before = env.operations();
    ASSERT_TRUE(core_->install_package(two_.manifest(), blobs_).ok());
    operations = env.operations() - before;
    core_.reset();
  }
  ASSERT_GT(operations, 8);
  size_t refused = 0;
  for (int64_t at = 0; at < operations; ++at) {
    SCOPED_TRACE("operation " + std::to_string(at));
    base::FaultEnv env;
    prepare(env);
    env.fail_at(at);
    // What only tidies up may fail without a word.
    const bool installed = core_->install_package(two_.manifest(), blobs_).ok();
    refused += !installed;
    env.fail_at(-1);
    EXPECT_EQ(running(), installed ? "2.0.0" : "1.0.0");
    core_.reset();
    // A disk that failed between the two copies of the list leaves the choice to the next open.
    open();
    const std::string version = running();
    if (installed) {
      EXPECT_EQ(version, "2.0.0");
    }
    EXPECT_EQ(parts().size(), 3u);
    core_.reset();
    if (HasFailure()) return;
  }
  EXPECT_GT(refused, 4u);
}

TEST_F(PackageFaultsTest, TheDiskMayBeFull) {
  size_t refused = 0;
  for (const int64_t room : {0, 1'000, 50'000, 99'000, 101'000, 150'000, 1'000'000}) {
    SCOPED_TRACE(std::to_string(room) + " bytes free");
    base::FaultEnv env;
    prepare(env);
    int64_t used = 0;
    for (const char* folder :
         {"", "/log", "/tables", "/egress", "/outbox", "/kv", "/tasks", "/tasks/parts"}) {
      const auto files = env.list_files(dir_ + folder);
      if (!files.ok()) continue;
      for (const std::string& file : *files) used += env.file_size(dir_ + folder + "/" + file);
    }
    const auto blobs = env.list_files(blobs_);
    for (const std::string& file : *blobs) used += env.file_size(blobs_ + "/" + file);
    env.limit_disk(used + room);
    const Result<std::string> installed = core_->install_package(two_.manifest(), blobs_);
    refused += !installed.ok();
    env.limit_disk(-1);
    EXPECT_EQ(running(), installed.ok() ? "2.0.0" : "1.0.0");
    if (!installed.ok()) {
      EXPECT_EQ(parts().size(), 3u);
    }
    core_.reset();
  }
  EXPECT_GE(refused, 4u);
  EXPECT_LT(refused, 7u);
}

// At every write of an install, what a killed process would leave.
TEST_F(PackageFaultsTest, AProcessThatDiesAnywhereLeavesOneVersionWhole) {
  base::FaultEnv env;
  prepare(env);
  std::vector<std::unique_ptr<base::FaultEnv>> left;
  env.before_writes([&] { left.push_back(env.copy()); });
  ASSERT_TRUE(core_->install_package(two_.manifest(), blobs_).ok());
  env.before_writes(nullptr);
  core_.reset();
  left.push_back(env.copy());
  ASSERT_GT(left.size(), 4u);
  std::vector<std::string> versions;
  for (auto& copy : left) {
    env_ = copy.get();
    open();
    versions.push_back(running());
    EXPECT_EQ(parts().size(), 3u);
    core_.reset();
  }
  EXPECT_EQ(versions.front(), "1.0.0");
  EXPECT_EQ(versions.back(), "2.0.0");
  EXPECT_TRUE(std::ranges::is_sorted(versions));
}

}  // namespace
}  // namespace walle::container
