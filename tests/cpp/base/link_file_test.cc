#include "base/link_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

namespace walle::base {
namespace {

namespace fs = std::filesystem;

class LinkFileTest : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = fs::temp_directory_path() / ("walle_link_" + std::to_string(std::random_device{}()));
    fs::create_directories(dir_);
  }
  void TearDown() override { fs::remove_all(dir_); }
  std::string at(const char* name) const { return (dir_ / name).string(); }
  void write(const char* name, const std::string& text) const { std::ofstream(at(name)) << text; }
  std::string read(const char* name) const {
    std::ifstream in(at(name));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  fs::path dir_;
};

TEST_F(LinkFileTest, GivesAFileASecondName) {
  write("a", "data");
  ASSERT_TRUE(link_file(at("a"), at("b")).ok());
  EXPECT_TRUE(fs::equivalent(at("a"), at("b")));
  fs::remove(at("a"));
  EXPECT_EQ(read("b"), "data");
}

TEST_F(LinkFileTest, ReplacesWhatHadTheName) {
  write("a", "new");
  write("b", "old");
  write("b.new", "left by a process that died");
  ASSERT_TRUE(link_file(at("a"), at("b")).ok());
  EXPECT_EQ(read("b"), "new");
  EXPECT_FALSE(fs::exists(at("b.new")));
  // And what is one file already stays one, without a draft beside it.
  ASSERT_TRUE(link_file(at("a"), at("b")).ok());
  EXPECT_TRUE(fs::equivalent(at("a"), at("b")));
  EXPECT_FALSE(fs::exists(at("b.new")));
}

TEST_F(LinkFileTest, WhatIsNoRegularFileIsRefused) {
  write("a", "data");
  write("b", "old");
  fs::create_symlink(at("a"), at("link"));
  fs::create_directory(at("folder"));
  for (const char* from : {"none", "link", "folder"}) {
    const Status refused = link_file(at(from), at("b"));
    ASSERT_FALSE(refused.ok()) << from;
    EXPECT_EQ(refused.error().group(), ErrorGroup::resource);
    EXPECT_EQ(read("b"), "old");
  }
  EXPECT_FALSE(link_file(at("a"), at("missing/b")).ok());
}

}  // namespace
}  // namespace walle::base
