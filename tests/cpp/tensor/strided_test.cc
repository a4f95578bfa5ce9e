// Layouts: what indexing, reshaping and broadcasting make of strides. Arithmetic on them is compared with
// NumPy in tests/python/vm/test_tensors.py.
#include "tensor/strided.h"

#include <gtest/gtest.h>

#include <limits>

namespace walle::tensor {
namespace {

using Kind = IndexItem::Kind;

IndexItem at(int64_t index) { return {.kind = Kind::integer, .start = index}; }
IndexItem cut(int64_t start, int64_t stop, int64_t step) { return {Kind::slice, start, stop, step}; }

TEST(Strided, DenseStridesAndGaps) {
  Layout layout = Layout::dense({2, 3, 4});
  EXPECT_EQ(layout.stride[0], 12);
  EXPECT_EQ(layout.stride[2], 1);
  EXPECT_TRUE(layout.is_dense());
  layout.stride[0] = 13;
  EXPECT_FALSE(layout.is_dense());
  layout.shape[0] = 1;  // one step is never taken
  EXPECT_TRUE(layout.is_dense());
}

TEST(Strided, IndexingMovesTheOffset) {
  const Layout layout = Layout::dense({4, 5});
  const IndexItem items[] = {at(-1), cut(3, 0, -2)};
  const Result<Layout> view = index(layout, items);
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(view->shape, Shape({2}));
  EXPECT_EQ(view->offset, 18);
  EXPECT_EQ(view->stride[0], -2);
}

TEST(Strided, NewAxesAndEllipsis) {
  const IndexItem items[] = {{.kind = Kind::new_axis}, {.kind = Kind::ellipsis}, at(1)};
  const Result<Layout> view = index(Layout::dense({2, 3, 4}), items);
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(view->shape, Shape({1, 2, 3}));
  EXPECT_EQ(view->offset, 1);
}

TEST(Strided, ErrorsSayThatThereIsNoSuchIndex) {
  const IndexItem far[] = {at(4)};
  const IndexItem many[] = {at(0), at(0), at(0)};
  for (const Result<Layout>& refused :
       {index(Layout::dense({4, 5}), far), index(Layout::dense({4, 5}), many)}) {
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().kind(), base::ErrorKind::no_such_index);
  }
}

TEST(Strided, HugeStepsDoNotOverflow) {
  const int64_t most = std::numeric_limits<int64_t>::max();
  const IndexItem items[] = {cut(0, most, most), cut(most, -most, -most)};
  const Result<Layout> view = index(Layout::dense({4, 5}), items);
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(view->shape, Shape({1, 1}));
  EXPECT_EQ(view->offset, 4);
}

TEST(Strided, ReshapesWithoutACopyWhereStridesAllow) {
  const int order[] = {1, 0};
  const Layout turned = transposed(Layout::dense({6, 4}), order);
  EXPECT_FALSE(reshaped(turned, {24}).has_value());
  const std::optional<Layout> split = reshaped(turned, {2, 2, 3, 2});
  ASSERT_TRUE(split.has_value());
  EXPECT_EQ(split->stride[0], 2);
  EXPECT_EQ(split->stride[1], 1);
  EXPECT_EQ(split->stride[2], 8);
  EXPECT_EQ(split->stride[3], 4);
}

TEST(Strided, OneSizeMayBeLeftOpen) {
  const int64_t open[] = {3, -1};
  const Result<Shape> filled = reshaped_shape({2, 6}, open);
  ASSERT_TRUE(filled.ok());
  EXPECT_EQ(*filled, Shape({3, 4}));
  const int64_t wrong[] = {5, -1};
  const int64_t two[] = {-1, -1};
  const int64_t none[] = {0, -1};
  EXPECT_FALSE(reshaped_shape({2, 6}, wrong).ok());
  EXPECT_FALSE(reshaped_shape({2, 6}, two).ok());
  EXPECT_FALSE(reshaped_shape({0, 6}, none).ok());
}

TEST(Strided, BroadcastingRepeats) {
  const Layout wide = broadcast_to(Layout::dense({3, 1}), {2, 3, 4});
  EXPECT_EQ(wide.stride[0], 0);
  EXPECT_EQ(wide.stride[1], 1);
  EXPECT_EQ(wide.stride[2], 0);
}

}  // namespace
}  // namespace walle::tensor
