#include "store/index.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "store/sqlite_statement.h"

namespace walle::store {
namespace {

class IndexFile : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_ = ::testing::TempDir() + "index_test_" + std::to_string(::getpid());
    std::filesystem::create_directories(dir_);
    path_ = dir_ + "/index.sqlite";
    for (uint64_t n = 0; n < 20; ++n)
      rows_.push_back({.file = "segment" + std::to_string(n),
                       .first_seq = 10 * n + 1,
                       .last_seq = 10 * n + 10,
                       .min_ts = 5,
                       .max_ts = 6,
                       .bytes = 7});
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  std::string bytes() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void put(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
    for (const char* suffix : {"-wal", "-shm"}) std::filesystem::remove(path_ + suffix);
  }
  // What another program reads.
  int64_t sum() const {
    sqlite3* db = nullptr;
    int64_t out = -1;
    if (sqlite3_open(path_.c_str(), &db) == SQLITE_OK) {
      Statement s(db, "SELECT SUM(first*3+last*5+min_ts+max_ts+bytes) FROM segments");
      if (s.step() == SQLITE_ROW) out = s.integer(0);
    }
    sqlite3_close(db);
    return out;
  }

  std::string dir_, path_;
  std::vector<SegmentEntry> rows_;
};

TEST_F(IndexFile, AnyDamageIsMadeAnew) {
  Index::open(path_)->settle(rows_);
  const std::string good = bytes();
  const int64_t right = sum();
  ASSERT_GT(good.size(), 4096u);
  EXPECT_FALSE(Index::open(path_)->rebuilt());
  int rebuilt = 0;
  // All bits would take minutes, most of them are of unused bytes: every 61st, a prime, reaches each of a
  // byte.
  for (size_t bit = 0; bit < 8 * good.size(); bit += 61) {
    if (good[bit / 8] == 0 && bit > 800) continue;
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    put(bad);
    const auto index = Index::open(path_);
    index->settle(rows_);
    rebuilt += index->rebuilt();
    index->add({.file = "new", .first_seq = 1});
    index->remove("new");
    ASSERT_EQ(sum(), right) << "bit " << bit;
  }
  EXPECT_GT(rebuilt, 20);
  for (const size_t size : {size_t{0}, size_t{1}, size_t{100}, size_t{4096}, good.size() - 1}) {
    put(good.substr(0, size));
    Index::open(path_)->settle(rows_);
    EXPECT_EQ(sum(), right) << "size " << size;
  }
  std::filesystem::remove(path_);
  Index::open(path_)->settle(rows_);
  EXPECT_EQ(sum(), right);
}

// Nothing hangs on the index: where none can be, the log goes on.
TEST_F(IndexFile, IsDoneWithoutWhereItCannotBe) {
  std::filesystem::create_directories(path_ + "/full");
  const auto index = Index::open(path_);
  EXPECT_TRUE(index->rebuilt());
  index->settle(rows_);
  index->add({.file = "new"});
  index->remove("new");
  Index::open("")->settle(rows_);
}

TEST_F(IndexFile, WhatACrashLeftUndoneIsNoDamage) {
  Index::open(path_)->settle({rows_.begin(), rows_.begin() + 10});
  const auto index = Index::open(path_);
  index->settle({rows_.begin() + 5, rows_.end()});
  EXPECT_FALSE(index->rebuilt());
  Index::open(path_)->settle(rows_);
}

}  // namespace
}  // namespace walle::store
