#include "store/tables.h"

#include <gtest/gtest.h>

#include <random>

#include "base/fault_env.h"
#include "seed.h"

namespace walle::store {
namespace {

using base::FaultEnv;

constexpr const char* kDir = "/tables";
constexpr int64_t kTs = 1'700'000'000'000'000;

TableDecl clicks(int64_t max_bytes = 1 << 20, int64_t max_age_us = 0) {
  return {.name = "clicks",
          .columns = {{"user", ColumnType::text},
                      {"count", ColumnType::integer},
                      {"score", ColumnType::real},
                      {"new", ColumnType::boolean},
                      {"code", ColumnType::bytes}},
          .max_bytes = max_bytes,
          .max_age_us = max_age_us};
}

std::unique_ptr<Tables> opened(Env& env, Tables::Access access = Tables::Access::create) {
  auto tables = Tables::open(env, kDir, access);
  EXPECT_TRUE(tables.ok()) << tables.error().message();
  return tables.ok() ? std::move(*tables) : nullptr;
}

// One row whose cells all follow from its number, some of them absent.
Status add_numbered(const TableDecl& decl, uint64_t number, TableRows& rows) {
  const std::string user = "user " + std::to_string(number % 7);
  const std::string code(number % 5, static_cast<char>(number));
  const Cell cells[] = {Cell::of(std::string_view(user)), Cell::of(static_cast<int64_t>(number)),
                        number % 3 ? Cell::of(static_cast<double>(number) / 3) : Cell(),
                        Cell::of(number % 2 == 0), number % 4 ? Cell::of_bytes(code) : Cell()};
  return add_row(decl, kTs + static_cast<int64_t>(number), cells, rows);
}

// A journal of frames as the owner of tables has one: frame n holds `rows` rows.
class Writer {
 public:
  explicit Writer(Tables& tables) : tables_(tables) {}
  void commit(uint64_t rows, const char* table = "clicks") {
    TableRows packed;
    const uint64_t first = tables_.next_row(table);
    for (uint64_t i = 0; i < rows; ++i)
      EXPECT_TRUE(add_numbered(*tables_.find(table), first + i, packed).ok());
    tables_.apply(++frame_, first, packed);
    frames_.emplace_back(first, packed);
  }
  // What a journal gives after a crash: all frames, whatever the tables have of them.
  void replay(Tables& tables) const {
    for (size_t i = 0; i < frames_.size(); ++i) tables.apply(i + 1, frames_[i].first, frames_[i].second);
  }
  uint64_t frame() const { return frame_; }

 private:
  Tables& tables_;
  uint64_t frame_ = 0;
  std::vector<std::pair<uint64_t, TableRows>> frames_;
};

void expect_rows(const TableColumns& rows, uint64_t first, uint64_t last) {
  ASSERT_EQ(rows.rows(), last + 1 - first);
  for (uint64_t n = first; n <= last; ++n) {
    const size_t i = n - first;
    ASSERT_EQ(rows.numbers[i], n);
    EXPECT_EQ(rows.ts[i], kTs + static_cast<int64_t>(n));
    EXPECT_EQ(rows.columns[0].cells[i].text, "user " + std::to_string(n % 7));
    EXPECT_EQ(rows.columns[1].cells[i].i, static_cast<int64_t>(n));
    EXPECT_EQ(rows.columns[2].cells.present(i), n % 3 ? 1 : 0);
    EXPECT_EQ(rows.columns[2].cells[i].d, n % 3 ? static_cast<double>(n) / 3 : 0);
    EXPECT_EQ(rows.columns[3].cells[i].i, n % 2 == 0 ? 1 : 0);
    EXPECT_EQ(rows.columns[4].cells[i].text, n % 4 ? std::string(n % 5, static_cast<char>(n)) : "");
  }
}

void expect_all(Tables& tables, uint64_t last) {
  auto rows = tables.read("clicks");
  ASSERT_TRUE(rows.ok()) << rows.error().message();
  expect_rows(*rows, 1, last);
}

TEST(Tables, ARowIsReadAsSoonAsItIsApplied) {
  FaultEnv env;
  auto tables = opened(env);
  ASSERT_TRUE(tables->declare(clicks(), 0).ok());
  Writer writer(*tables);
  for (uint64_t n = 1; n <= 300; ++n) {
    writer.commit(1);
    if (n % 50 == 0) {
      ASSERT_TRUE(tables->checkpoint(writer.frame(), 1000).ok());
    }
    if (n % 17 == 0) expect_all(*tables, n);
  }
  expect_all(*tables, 300);
  EXPECT_EQ(tables->info("clicks")->rows, 300u);
  EXPECT_EQ(tables->info("clicks")->waiting, 0u);
}

TEST(Tables, ReadsFromANumberOnAndTheLastOnes) {
  FaultEnv env;
  auto tables = opened(env);
  ASSERT_TRUE(tables->declare(clicks(), 0).ok());
  Writer writer(*tables);
  for (int i = 0; i < 4; ++i) {
    writer.commit(100 >> i);  // segments that are not merged
    ASSERT_TRUE(tables->checkpoint(writer.frame(), 1000).ok());
  }
  EXPECT_EQ(tables->info("clicks")->segments, 4u);
  writer.commit(3);
  const uint64_t all = 100 + 50 + 25 + 12 + 3;
  for (uint64_t from : {uint64_t{0}, uint64_t{1}, uint64_t{100}, uint64_t{101}, all, all + 1, UINT64_MAX}) {
    auto rows = tables->read("clicks", from, 40);
    const uint64_t first = std::max<uint64_t>(from, 1);
    if (first > all)
      EXPECT_EQ(rows->rows(), 0u);
    else
      expect_rows(*rows, first, std::min(all, first + 39));
  }
  for (uint64_t count : {0u, 1u, 3u, 4u, 15u, 16u, 189u, 190u, 191u, 5000u}) {
    auto rows = tables->last("clicks", count);
    if (count == 0)
      EXPECT_EQ(rows->rows(), 0u);
    else
      expect_rows(*rows, all + 1 - std::min(all, count), all);
  }
  auto some = tables->read("clicks", 0, 5, {"score", "user"});
  ASSERT_EQ(some->columns.size(), 2u);
  EXPECT_EQ(some->columns[0].decl.name, "score");
  EXPECT_EQ(some->columns[1].cells[2].text, "user 3");
}

TEST(Tables, SmallBatchesLeaveFewSegments) {
  FaultEnv env;
  auto tables = opened(env);
  ASSERT_TRUE(tables->declare(clicks(), 0).ok());
  Writer writer(*tables);
  for (int i = 0; i < 500; ++i) {
    writer.commit(1);
    ASSERT_TRUE(tables->checkpoint(writer.frame(), 10).ok());
  }
  EXPECT_LE(tables->info("clicks")->segments, 9u);  // log2(500)
  EXPECT_EQ(env.list_files(kDir)->size(), tables->info("clicks")->segments + 2);
  expect_all(*tables, 500);
}

TEST(Tables, AReplayFromAnyFrameGivesEachRowOnce) {
  FaultEnv env;
  auto tables = opened(env);
  ASSERT_TRUE(tables->declare(clicks(), 0).ok());
  Writer writer(*tables);
  for (int i = 0; i < 30; ++i) {
    writer.commit(i % 4);
    if (i % 7 == 3) {
      ASSERT_TRUE(tables->checkpoint(writer.frame(), 100).ok());
    }
  }
  const uint64_t last = tables->next_row("clicks") - 1;
  tables = opened(env);
  EXPECT_EQ(tables->applied(), 25u);
  writer.replay(*tables);
  writer.replay(*tables);
  expect_all(*tables, last);
}

// Every operation of writing fails once, and the disk is full for good at once: nothing that was applied is
// lost, in this process or after a crash at that point.
TEST(Tables, AFailureOfAnyOperationLosesNothing) {
  for (const bool full : {false, true}) {
    int64_t operations = 1;
    for (int64_t fail = 0; fail < operations; ++fail) {
      FaultEnv env;
      auto tables = opened(env);
      ASSERT_TRUE(tables->declare(clicks(), 0).ok());
      Writer writer(*tables);
      if (full) env.limit_disk(200 + fail * 100);
      int64_t left = fail;
      int64_t used = 0;
      for (int i = 0; i < 6; ++i) {
        writer.commit(10);
        const int64_t before = env.operations();
        env.fail_at(full ? -1 : std::max<int64_t>(left, -1));
        (void)tables->checkpoint(writer.frame(), 100).ok();
        env.fail_at(-1);
        used += env.operations() - before;
        left -= env.operations() - before;
        expect_all(*tables, writer.frame() * 10);
      }
      if (operations == 1) operations = full ? 30 : used;
      {
        const std::unique_ptr<FaultEnv> killed = env.copy();
        auto again = opened(*killed);
        ASSERT_NE(again, nullptr);
        EXPECT_TRUE(again->losses().empty()) << "operation " << fail;
        writer.replay(*again);
        expect_all(*again, 60);
      }
      env.limit_disk(-1);
      env.fail_at(-1);
      ASSERT_TRUE(tables->checkpoint(writer.frame(), 100).ok());
      tables = opened(env);
      writer.replay(*tables);
      expect_all(*tables, 60);
      EXPECT_EQ(env.list_files(kDir)->size(), tables->info("clicks")->segments + 2) << "operation " << fail;
    }
  }
}

TEST(Tables, SizeAndAgeLetTheOldestGoAndCountThem) {
  FaultEnv env;
  env.set_wall_us(kTs);
  auto tables = opened(env);
  ASSERT_TRUE(tables->declare(clicks(4000), 0).ok());
  Writer writer(*tables);
  for (int i = 0; i < 60; ++i) {
    writer.commit(100);
    ASSERT_TRUE(tables->checkpoint(writer.frame(), 1000).ok());
  }
  TableInfo info = *tables->info("clicks");
  EXPECT_EQ(info.removed + info.rows, 6000u);
  EXPECT_GT(info.removed, 0u);
  EXPECT_TRUE(info.segments == 1 || info.bytes <= 4000) << info.bytes;
  expect_rows(*tables->read("clicks"), info.first, 6000);
  // A row at the limit stays; numbers go on where they were.
  ASSERT_TRUE(tables->declare(clicks(1 << 20, 1'000'000), writer.frame()).ok());
  env.set_wall_us(kTs + 6000 + 1'000'000);
  ASSERT_TRUE(tables->checkpoint(writer.frame(), 1000).ok());
  EXPECT_GT(tables->info("clicks")->rows, 0u);
  env.advance_us(1);
  ASSERT_TRUE(tables->checkpoint(writer.frame(), 1000).ok());
  EXPECT_EQ(tables->info("clicks")->rows, 0u);
  EXPECT_EQ(tables->info("clicks")->removed, 6000u);
  tables = opened(env);
  EXPECT_EQ(tables->next_row("clicks"), 6001u);
  EXPECT_TRUE(tables->losses().empty());
}

TEST(Tables, ColumnsGrowBehindTheOthers) {
  FaultEnv env;
  auto tables = opened(env);
  ASSERT_TRUE(tables->declare(clicks(), 0).ok());
  Writer writer(*tables);
  writer.commit(10);
  ASSERT_TRUE(tables->checkpoint(writer.frame(), 100).ok());
  writer.commit(10);
  TableDecl wider = clicks();
  wider.columns.push_back({"late", ColumnType::text});
  ASSERT_TRUE(tables->declare(wider, writer.frame()).ok());
  TableRows rows;
  const Cell cells[] = {Cell(), Cell(), Cell(), Cell(), Cell(), Cell::of("here")};
  ASSERT_TRUE(add_row(wider, kTs, cells, rows).ok());
  tables->apply(writer.frame() + 1, 21, rows);
  for (int round = 0; round < 2; ++round) {
    auto read = tables->read("clicks");
    ASSERT_EQ(read->rows(), 21u);
    EXPECT_EQ(read->columns[5].cells.present(19), 0);
    EXPECT_EQ(read->columns[5].cells[20].text, "here");
    EXPECT_EQ(read->columns[0].cells.present(20), 0);
    ASSERT_TRUE(tables->checkpoint(writer.frame() + 1, 100).ok());
  }
  TableDecl other = clicks();
  other.columns[1].type = ColumnType::real;
  auto refused = tables->declare(other, 30);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message().find("int 'count'"), std::string::npos) << refused.error().message();
}

TEST(Tables, ADroppedTableIsGoneAndItsFramesAreNotTheNextOnes) {
  FaultEnv env;
  auto tables = opened(env);
  ASSERT_TRUE(tables->declare(clicks(), 0).ok());
  Writer writer(*tables);
  writer.commit(10);
  ASSERT_TRUE(tables->checkpoint(writer.frame(), 100).ok());
  writer.commit(10);
  ASSERT_TRUE(tables->drop("clicks").ok());
  EXPECT_EQ(env.list_files(kDir)->size(), 2u);
  ASSERT_TRUE(tables->declare(clicks(), writer.frame()).ok());
  tables = opened(env);
  writer.replay(*tables);
  EXPECT_EQ(tables->read("clicks")->rows(), 0u);
  EXPECT_TRUE(tables->losses().empty());
  auto unknown = tables->read("click");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().kind(), base::ErrorKind::no_such_key);
  EXPECT_NE(unknown.error().message().find("did you mean 'clicks'"), std::string::npos);
}

TEST(Tables, LossesStayUntilAcknowledgedAndNumbersAreNotReused) {
  FaultEnv env;
  auto tables = opened(env);
  ASSERT_TRUE(tables->declare(clicks(), 0).ok());
  Writer writer(*tables);
  for (int i = 0; i < 3; ++i) {
    writer.commit(100 >> i);
    ASSERT_TRUE(tables->checkpoint(writer.frame(), 50).ok());
  }
  const std::string first = std::string(kDir) + "/" + table_segment_name("clicks", 1, 100);
  const std::string second = std::string(kDir) + "/" + table_segment_name("clicks", 101, 150);
  ASSERT_TRUE(env.remove_file(first).ok());
  env.file(second)[90] ^= 1;  // of the same size: found when it is read
  tables = opened(env);
  ASSERT_EQ(tables->losses().size(), 1u);
  EXPECT_EQ(tables->losses()[0].kind, LossKind::missing_segment);
  expect_rows(*tables->read("clicks"), 151, 175);
  ASSERT_EQ(tables->losses().size(), 2u);
  EXPECT_EQ(tables->losses()[1].kind, LossKind::damaged_segment);
  EXPECT_EQ(tables->losses()[1].count, 50u);
  EXPECT_GE(env.file_size(second + ".damaged"), 0);
  for (int open = 0; open < 2; ++open) {
    tables = opened(env);
    EXPECT_EQ(tables->losses().size(), 2u);
  }
  // The owner's journal lost what came behind the last checkpoint.
  ASSERT_TRUE(tables->lose_newest("a test").ok());
  ASSERT_TRUE(tables->settle().ok());
  EXPECT_EQ(tables->next_row("clicks"), 226u);
  ASSERT_EQ(tables->losses().size(), 3u);
  EXPECT_EQ(tables->losses()[2].first, 176u);
  EXPECT_EQ(tables->losses()[2].last, 225u);
  EXPECT_FALSE(tables->losses()[2].exact);
  tables = opened(env);
  ASSERT_TRUE(tables->settle().ok());
  EXPECT_EQ(tables->next_row("clicks"), 226u);
  ASSERT_TRUE(tables->acknowledge(tables->losses()).ok());
  tables = opened(env);
  ASSERT_TRUE(tables->settle().ok());
  EXPECT_TRUE(tables->losses().empty());
  EXPECT_EQ(tables->next_row("clicks"), 226u);
}

TEST(Tables, ALostManifestIsRebuiltFromTheSegmentsAndSaysSo) {
  FaultEnv env;
  auto tables = opened(env);
  ASSERT_TRUE(tables->declare(clicks(), 0).ok());
  Writer writer(*tables);
  for (int i = 0; i < 3; ++i) {
    writer.commit(100 >> i);
    ASSERT_TRUE(tables->checkpoint(writer.frame(), 50).ok());
  }
  writer.commit(5);
  env.file(std::string(kDir) + "/tables.wals")[20] ^= 1;
  env.file(std::string(kDir) + "/tables.wals.mirror").clear();
  tables = opened(env, Tables::Access::existing);
  EXPECT_TRUE(tables->report().manifest_lost);
  writer.replay(*tables);
  expect_all(*tables, 180);
  ASSERT_EQ(tables->losses().size(), 1u);
  EXPECT_EQ(tables->losses()[0].kind, LossKind::manifest);
  EXPECT_EQ(tables->find("clicks")->columns, clicks().columns);
  // Removed before there was a segment: rows of frames are lost with the declaration, their numbers are not
  // given out again.
  FaultEnv other;
  tables = opened(other);
  ASSERT_TRUE(tables->declare(clicks(), 0).ok());
  Writer second(*tables);
  second.commit(7);
  ASSERT_TRUE(other.remove_file(std::string(kDir) + "/tables.wals").ok());
  ASSERT_TRUE(other.remove_file(std::string(kDir) + "/tables.wals.mirror").ok());
  tables = opened(other, Tables::Access::existing);
  second.replay(*tables);
  ASSERT_EQ(tables->losses().size(), 1u);
  EXPECT_EQ(tables->losses()[0].count, 7u);
  ASSERT_TRUE(tables->declare(clicks(), second.frame()).ok());
  EXPECT_EQ(tables->next_row("clicks"), 8u);
}

// One bit of any file: what is read is what was written, or told of as lost.
TEST(Tables, FlippedBitsAreToldOf) {
  FaultEnv whole;
  {
    auto tables = opened(whole);
    ASSERT_TRUE(tables->declare(clicks(), 0).ok());
    Writer writer(*tables);
    for (int i = 0; i < 3; ++i) {
      writer.commit(40 >> i);
      ASSERT_TRUE(tables->checkpoint(writer.frame(), 50).ok());
    }
  }
  std::mt19937_64 random(test_seed());
  const std::vector<std::string> files = *whole.list_files(kDir);
  for (int trial = 0; trial < 300; ++trial) {
    FaultEnv env;
    for (const std::string& f : files)
      ASSERT_TRUE(
          env.Env::replace_file(std::string(kDir) + "/" + f, whole.file(std::string(kDir) + "/" + f)).ok());
    std::string& bytes = env.file(std::string(kDir) + "/" + files[random() % files.size()]);
    bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
    auto tables = opened(env, Tables::Access::existing);
    ASSERT_NE(tables, nullptr);
    auto rows = tables->read("clicks");
    ASSERT_TRUE(rows.ok()) << rows.error().message();
    uint64_t lost = 0;
    for (const Loss& l : tables->losses()) lost += l.count;
    EXPECT_EQ(rows->rows() + lost, 70u);
    for (size_t i = 0; i < rows->rows(); ++i)
      ASSERT_EQ(rows->columns[1].cells[i].i, static_cast<int64_t>(rows->numbers[i]));
    tables = opened(env, Tables::Access::existing);
    uint64_t again = 0;
    for (const Loss& l : tables->losses()) again += l.count;
    EXPECT_EQ(again, lost);
  }
}

TEST(Tables, ReadersOfAFolderWriteNothing) {
  FaultEnv env;
  auto tables = opened(env);
  ASSERT_TRUE(tables->declare(clicks(), 0).ok());
  Writer writer(*tables);
  writer.commit(10);
  ASSERT_TRUE(tables->checkpoint(writer.frame(), 50).ok());
  env.set_read_only(true);
  auto reader = opened(env, Tables::Access::read_only);
  expect_all(*reader, 10);
  EXPECT_FALSE(reader->declare(clicks(99), 1).ok());
  EXPECT_FALSE(reader->drop("clicks").ok());
}

TEST(TableRow, WrongValuesAreRefusedAndLeaveTheRowsAlone) {
  const TableDecl decl = clicks();
  TableRows rows;
  ASSERT_TRUE(add_numbered(decl, 1, rows).ok());
  const std::string before = rows.bytes;
  const auto refused = [&](std::span<const Cell> cells) {
    Status s = add_row(decl, kTs, cells, rows);
    EXPECT_FALSE(s.ok());
    EXPECT_EQ(rows.bytes, before);
    EXPECT_EQ(rows.rows, 1u);
    return s.ok() ? Status() : s;
  };
  const Cell number[] = {Cell::of(int64_t{3})};
  Status wrong = refused(number);
  EXPECT_EQ(wrong.error().kind(), base::ErrorKind::wrong_type);
  EXPECT_NE(wrong.error().message().find("column 'user' of result table 'clicks'"), std::string::npos);
  const std::string large(kMaxRowBytes, 'x');
  const Cell huge[] = {Cell::of(std::string_view(large))};
  EXPECT_FALSE(refused(huge).ok());
  const Cell bytes_as_text[] = {Cell::of("\xff")};
  EXPECT_FALSE(refused(bytes_as_text).ok());
  const Cell six[6] = {};
  EXPECT_FALSE(refused(six).ok());
  // An integer stands in a column of floats; nothing at all is a row, too.
  const Cell integer[] = {Cell(), Cell(), Cell::of(int64_t{3})};
  ASSERT_TRUE(add_row(decl, kTs, integer, rows).ok());
  ASSERT_TRUE(add_row(decl, kTs, {}, rows).ok());
  RowReader reader(decl.columns, rows.bytes);
  ASSERT_TRUE(reader.next());
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.cells()[2].d, 3.0);
  ASSERT_TRUE(reader.next());
  EXPECT_FALSE(reader.next());
  EXPECT_TRUE(reader.ok());
}

TEST(TableRow, CutRowsEndTheReading) {
  const TableDecl decl = clicks();
  TableRows rows;
  for (uint64_t n = 1; n <= 3; ++n) ASSERT_TRUE(add_numbered(decl, n, rows).ok());
  for (size_t size = 0; size < rows.bytes.size(); ++size) {
    RowReader reader(decl.columns, std::string_view(rows.bytes).substr(0, size));
    size_t read = 0;
    while (reader.next()) ++read;
    EXPECT_LT(read, 3u);
  }
}

TEST(TableDecl, MistakesAreNamed) {
  TableDecl decl = clicks();
  EXPECT_TRUE(check_table(decl).ok());
  for (const char* name : {"", "a/b", ".hidden", "a b", "\xc3\xa4"}) {
    decl.name = name;
    EXPECT_FALSE(check_table(decl).ok()) << name;
  }
  decl = clicks();
  decl.columns.push_back({"user", ColumnType::integer});
  EXPECT_NE(check_table(decl).error().message().find("two columns named 'user'"), std::string::npos);
  decl = clicks();
  decl.columns.push_back({"_number", ColumnType::integer});
  EXPECT_NE(check_table(decl).error().message().find("none of _number _ts"), std::string::npos);
  decl = clicks();
  decl.columns.resize(65);
  EXPECT_FALSE(check_table(decl).ok());
  decl = clicks(0);
  EXPECT_FALSE(check_table(decl).ok());
}

TEST(TableSegment, NamesHaveOneSpelling) {
  EXPECT_EQ(table_segment_name("a.b", 1, 255), "a.b.0000000000000001-00000000000000ff.wtab");
  const auto parsed = parse_table_segment_name("a.b.0000000000000001-00000000000000ff.wtab");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->table, "a.b");
  EXPECT_EQ(parsed->last, 255u);
  for (const char* other :
       {"a.b.0000000000000001-00000000000000FF.wtab", ".0000000000000001-00000000000000ff.wtab",
        "a.0000000000000002-0000000000000001.wtab", "a.wtab", ""})
    EXPECT_FALSE(parse_table_segment_name(other)) << other;
}

}  // namespace
}  // namespace walle::store
