#include "base/copy.h"

#include <gtest/gtest.h>

#include <vector>

namespace walle::base {
namespace {

// Lengths about the bounds between one call and pieces, at destinations that are aligned and not.
TEST(Copy, EveryLengthIsCopiedAndNothingElse) {
  for (const size_t bytes :
       {0, 1, 2047, 2048, 4095, 4096, 4097, 6143, 6145, 300'001, 1'048'575, 1'048'576, 1'048'577})
    for (const size_t offset : {0, 1, 16, 33}) {
      std::vector<unsigned char> from(bytes + 64), to(bytes + 128, 0xEE);
      for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(i * 31 + i / 251);
      copy_bytes(to.data() + offset, from.data() + 7, bytes);
      EXPECT_EQ(std::memcmp(to.data() + offset, from.data() + 7, bytes), 0) << bytes << " at " << offset;
      for (size_t i = 0; i < offset; ++i) ASSERT_EQ(to[i], 0xEE) << "before " << bytes << " at " << offset;
      for (size_t i = offset + bytes; i < to.size(); ++i)
        ASSERT_EQ(to[i], 0xEE) << "after " << bytes << " at " << offset;
    }
}

TEST(Copy, NothingMayHaveNoAddress) { copy_bytes(nullptr, nullptr, 0); }

}  // namespace
}  // namespace walle::base
