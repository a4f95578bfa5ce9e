#include "link/tunnel/answer_message.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "link/tunnel/limits.h"

namespace walle::link {
namespace {

Answer full() {
  Answer out{.stream = "doubt", .seq = 12, .number = 5, .after = 4, .task = "words", .error = "", .rows = {}};
  out.rows.push_back({{.column = "n", .value = int64_t{-3}},
                      {.column = "score", .value = 0.25},
                      {.column = "sure", .value = true},
                      {.column = "said", .value = std::string("gr\xc3\xbc\xc3\x9f")},
                      {.column = "raw", .value = Cell::of_bytes({"\xff\x00\x01", 3})},
                      {.column = "none", .value = {}}});
  out.rows.emplace_back();
  return out;
}

std::string packed(const Answer& answer) {
  const Result<std::string> bytes = pack_answer(answer);
  EXPECT_TRUE(bytes.ok()) << bytes.error().message();
  return bytes.ok() ? *bytes : "";
}

TEST(AnswerMessage, IsReadAsItWasPacked) {
  const Answer given = full();
  const Result<Answer> read = read_answer(packed(given));
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(read->stream, "doubt");
  EXPECT_EQ(read->seq, 12u);
  EXPECT_EQ(read->number, 5u);
  EXPECT_EQ(read->after, 4u);
  EXPECT_EQ(read->task, "words");
  ASSERT_EQ(read->rows.size(), 2u);
  ASSERT_EQ(read->rows[0].size(), 6u);
  for (size_t i = 0; i < 6; ++i) {
    const AnswerCell &is = read->rows[0][i], &was = given.rows[0][i];
    EXPECT_EQ(is.column, was.column);
    EXPECT_TRUE(identical(is.value.cell(), was.value.cell())) << is.column;
  }
  EXPECT_EQ(packed(*read), packed(given));
}

TEST(AnswerMessage, AnyByteThatIsAnotherAndAnyLengthIsRefused) {
  const std::string good = packed(full());
  for (size_t at = 0; at < good.size(); ++at)
    for (const int bit : {0, 3, 7}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ (1 << bit));
      EXPECT_FALSE(read_answer(bad).ok()) << "byte " << at << " bit " << bit;
    }
  for (size_t size = 0; size < good.size(); ++size) EXPECT_FALSE(read_answer(good.substr(0, size)).ok());
  EXPECT_FALSE(read_answer(good + "x").ok());
}

// The one byte in which an answer of true differs from one of false.
TEST(AnswerMessage, ABooleanOfTwoIsRefused) {
  Answer answer = full();
  const std::string with = packed(answer);
  answer.rows[0][2].value = Cell::of(false);
  const std::string without = packed(answer);
  const auto place = std::ranges::mismatch(with, without).in1 - with.begin();
  std::string two = with;
  two[place] = 2;
  EXPECT_TRUE(read_answer(with).ok());
  EXPECT_FALSE(read_answer(two).ok());
}

TEST(AnswerMessage, NothingIsTakenThatMeansNothing) {
  const auto refused = [](auto change) {
    Answer answer = full();
    change(answer);
    const Result<std::string> bytes = pack_answer(answer);
    return !bytes.ok() || !read_answer(*bytes).ok();
  };
  EXPECT_FALSE(refused([](Answer&) {}));
  EXPECT_TRUE(refused([](Answer& a) { a.stream.clear(); }));
  EXPECT_TRUE(refused([](Answer& a) { a.stream.assign(256, 'x'); }));
  EXPECT_FALSE(refused([](Answer& a) { a.stream.assign(255, 'x'); }));
  EXPECT_TRUE(refused([](Answer& a) { a.seq = 0; }));
  EXPECT_TRUE(refused([](Answer& a) { a.after = a.number; }));
  EXPECT_TRUE(refused([](Answer& a) { a.error = "failed, and rows beside it"; }));
  EXPECT_TRUE(refused([](Answer& a) { a.rows[0][3].value = std::string("\xff"); }))
      << "a text that is no UTF-8";
  EXPECT_TRUE(refused([](Answer& a) { a.rows.resize(kMostAnswerRows + 1); }));
  EXPECT_FALSE(refused([](Answer& a) { a.rows.resize(kMostAnswerRows); }));
  EXPECT_TRUE(refused([](Answer& a) { a.rows[1].resize(kMostAnswerColumns + 1); }));
  EXPECT_TRUE(refused([](Answer& a) { a.rows[0][3].value = std::string(kMostAnswerBytes, 'x'); }));
}

TEST(AnswerMessage, MarksAreReadAsTheyWerePacked) {
  const std::string good = pack_marks({{.stream = "a", .taken = 7}, {.stream = "b", .taken = 0}});
  const auto read = read_marks(good);
  ASSERT_TRUE(read.ok());
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ((*read)[0].stream, "a");
  EXPECT_EQ((*read)[0].taken, 7u);
  EXPECT_EQ((*read)[1].stream, "b");
  for (size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 1);
    EXPECT_FALSE(read_marks(bad).ok()) << at;
    EXPECT_FALSE(read_marks(good.substr(0, at)).ok()) << at;
  }
  EXPECT_FALSE(read_marks(pack_marks({{.stream = "", .taken = 7}})).ok());
  EXPECT_FALSE(read_marks(pack_marks(std::vector<AnswerMark>(kMostSections + 1, {"s", 1}))).ok());
}

}  // namespace
}  // namespace walle::link
