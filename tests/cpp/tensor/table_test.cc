#include "tensor/table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace walle::tensor {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Column column(std::initializer_list<Scalar> values) {
  Column out;
  for (const Scalar& v : values) EXPECT_TRUE(out.push_back(v.cell()));
  return out;
}

void expect_cells(const Column& c, std::initializer_list<Scalar> values) {
  ASSERT_EQ(c.size(), values.size());
  for (size_t row = 0; row < c.size(); ++row)
    EXPECT_TRUE(identical(c[row], values.begin()[row].cell())) << row;
}

TEST(ColumnType, HasOneWordBothWays) {
  for (int i = 0; i <= static_cast<int>(ColumnType::vector); ++i) {
    const auto type = static_cast<ColumnType>(i);
    EXPECT_EQ(column_type(column_type_name(type)), type);
  }
  EXPECT_EQ(column_type("i64"), std::nullopt);
  EXPECT_EQ(column_type_name(static_cast<ColumnType>(200)), "unknown");
}

TEST(Cell, OrderIsTotalAndByValue) {
  const Scalar ascending[] = {Scalar(),
                              -std::numeric_limits<double>::infinity(),
                              int64_t{INT64_MIN},
                              false,
                              0.5,
                              true,
                              int64_t{(int64_t{1} << 53) + 1},
                              static_cast<double>((int64_t{1} << 53) + 2),
                              int64_t{INT64_MAX},
                              0x1p63,
                              kNan,
                              std::string(),
                              std::string("a"),
                              Cell::of_bytes("a"),
                              Floats{1}};
  for (size_t a = 0; a < std::size(ascending); ++a)
    for (size_t b = 0; b < std::size(ascending); ++b) {
      const int order = a < b ? -1 : a > b ? 1 : 0;
      EXPECT_EQ(compare(ascending[a].cell(), ascending[b].cell()), order) << a << " " << b;
    }
  EXPECT_EQ(Scalar(int64_t{1}), Scalar(1.0));
  EXPECT_EQ(Scalar(true), Scalar(int64_t{1}));
  EXPECT_EQ(Scalar(0.0), Scalar(-0.0));
  EXPECT_FALSE(identical(Cell::of(0.0), Cell::of(-0.0)));
  EXPECT_TRUE(identical(Cell::of(kNan), Cell::of(kNan)));
  EXPECT_FALSE(identical(Cell::of(int64_t{1}), Cell::of(1.0)));
}

TEST(Cell, ScalarsKeepWhatTheyWereMadeOf) {
  Scalar kept;
  {
    const std::string text = "longer than what a string holds without memory of its own";
    kept = Cell::of(std::string_view(text));
  }
  const Scalar copy = kept;
  kept = Scalar();
  EXPECT_EQ(copy.cell().text.substr(0, 11), "longer than");
  Floats floats;
  Scalar(Floats{1.5F, -2}).cell().append_floats(floats);
  EXPECT_EQ(floats, (Floats{1.5F, -2}));
}

TEST(Column, TakesTheTypeOfItsFirstValue) {
  Column c = column({Scalar(), Scalar(), std::string("a")});
  EXPECT_EQ(c.type(), ColumnType::text);
  expect_cells(c, {Scalar(), Scalar(), std::string("a")});
  EXPECT_EQ(c.absent(), 2u);
  EXPECT_EQ(c.presence(), (std::vector<uint8_t>{0, 0, 1}));
  EXPECT_FALSE(c.push_back(Cell::of(int64_t{1})));
  EXPECT_FALSE(c.push_back(Cell::of_bytes("a")));
  EXPECT_EQ(c.size(), 3u);
  EXPECT_TRUE(column({true}).presence().empty());
  EXPECT_EQ(Column(ColumnType::bytes).type(), ColumnType::bytes);
}

TEST(Column, NumbersBecomeTheWidestOfThem) {
  Column c = column({true, Scalar(), int64_t{-3}});
  EXPECT_EQ(c.type(), ColumnType::integer);
  expect_cells(c, {int64_t{1}, Scalar(), int64_t{-3}});
  ASSERT_TRUE(c.push_back(Cell::of(0.5)));
  ASSERT_TRUE(c.push_back(Cell::of(true)));
  EXPECT_EQ(c.reals(), (std::vector<double>{1, 0, -3, 0.5, 1}));
  EXPECT_FALSE(c.present(1));
  EXPECT_FALSE(c.push_back(Cell::of("x")));
  EXPECT_EQ(column({false, 2.5}).reals(), (std::vector<double>{0, 2.5}));
}

TEST(Column, AppendsRowsOfAnother) {
  const Column texts = column({std::string("a"), Scalar(), std::string("b")});
  const Column numbers = column({int64_t{1}, Scalar(), 2.5});
  Column c;
  ASSERT_TRUE(c.append(texts, 1, 2));
  EXPECT_EQ(c.absent(), 1u);
  EXPECT_FALSE(column({std::string("a")}).append(numbers, 0, 1));
  EXPECT_TRUE(column({std::string("a")}).append(numbers, 1, 2)) << "nothing fits everywhere";
  ASSERT_TRUE(c.append(numbers, 0, 3));
  expect_cells(c, {Scalar(), 1.0, Scalar(), 2.5});
  ASSERT_TRUE(c.append(column({true}), 0, 1));
  ASSERT_TRUE(c.append(numbers, 2, 3));
  expect_cells(c, {Scalar(), 1.0, Scalar(), 2.5, 1.0, 2.5});
  Column all = texts;
  ASSERT_TRUE(all.append(texts, 0, 3));
  expect_cells(all,
               {std::string("a"), Scalar(), std::string("b"), std::string("a"), Scalar(), std::string("b")});
}

TEST(Column, MarksAreABitARow) {
  for (const size_t rows : {1u, 7u, 8u, 9u, 24u}) {
    Column c;
    for (size_t row = 0; row < rows; ++row)
      ASSERT_TRUE(c.push_back(row % 3 == 1 || rows == 1 ? Cell::of(int64_t{1}) : Cell()));
    if (rows == 1) c.push_absent();
    const std::string marks = marks_of(c);
    EXPECT_TRUE(are_marks(marks, c.size())) << rows;
    for (size_t row = 0; row < c.size(); ++row) EXPECT_EQ(marked(marks, row), c.present(row));
    EXPECT_FALSE(are_marks(marks + '\0', c.size()));
    std::string longer = marks;
    if (c.size() % 8 != 0) {
      longer.back() = static_cast<char>(longer.back() | 0x80);
      EXPECT_FALSE(are_marks(longer, c.size())) << "a bit behind the last row";
    }
  }
  EXPECT_FALSE(are_marks("\x07", 3)) << "every row has a value: nobody writes marks";
}

}  // namespace
}  // namespace walle::tensor
