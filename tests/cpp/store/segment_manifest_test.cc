#include "store/segment_manifest.h"

#include <gtest/gtest.h>

#include "base/fault_env.h"

namespace walle::store {
namespace {

TEST(SegmentManifest, NamesHaveOneSpelling) {
  const std::string name = segment_name(1, 255, ".seg");
  EXPECT_EQ(name, "0000000000000001-00000000000000ff.seg");
  const auto parsed = parse_segment_name(name, ".seg");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->first, 1u);
  EXPECT_EQ(parsed->last, 255u);
  for (const char* other : {"0000000000000001-00000000000000FF.seg", "0000000000000002-0000000000000001.seg",
                            "0000000000000000-0000000000000001.seg", "0000000000000001_00000000000000ff.seg",
                            "0000000000000001-00000000000000ff.sag", "1-ff.seg", ".seg", ""})
    EXPECT_FALSE(parse_segment_name(other, ".seg")) << other;
}

TEST(SegmentManifest, SegmentsAreInOrderAndHoldNoMoreThanTheirNumbers) {
  const auto reads = [](const std::vector<SegmentEntry>& segments) {
    base::ByteWriter out;
    put_segments(out, segments);
    base::ByteReader in(out.written());
    const auto back = get_segments(in);
    return in.done() && back.size() == segments.size();
  };
  EXPECT_TRUE(reads({}));
  EXPECT_TRUE(reads({{.first = 1, .last = 9, .rows = 9}, {.first = 12, .last = 12}}));
  EXPECT_FALSE(reads({{.first = 0, .last = 9}}));
  EXPECT_FALSE(reads({{.first = 1, .last = 9, .rows = 10}}));
  EXPECT_FALSE(reads({{.first = 1, .last = 9}, {.first = 9, .last = 12}}));
  EXPECT_FALSE(reads({{.first = 5, .last = 4}}));
  EXPECT_FALSE(reads({{.first = 1, .last = 4, .bytes = -1}}));
}

TEST(SegmentManifest, LossesReadBackAndUnknownKindsAreRefused) {
  std::vector<Loss> losses;
  add_loss(losses, {.kind = LossKind::quota, .first = 3, .last = 9, .count = 2, .owner = "r", .cause = "c"});
  add_loss(losses, {.kind = LossKind::manifest, .exact = false, .noticed_us = -4, .owner = {}, .cause = {}});
  base::ByteWriter out;
  put_losses(out, losses);
  const std::string bytes(out.written());
  base::ByteReader in(bytes);
  EXPECT_EQ(get_losses(in), losses);
  EXPECT_TRUE(in.done());
  std::string bad = bytes;
  bad[4] = 6;
  base::ByteReader refused(bad);
  (void)get_losses(refused);
  EXPECT_FALSE(refused.ok());
  EXPECT_EQ(loss_text(losses[0], "events"), "2 events between 3 and 9 are lost: c");
}

TEST(SegmentManifest, WhatIsSetAsideIsKeptUnderAnotherName) {
  base::FaultEnv env;
  ASSERT_TRUE(env.make_dirs("/d").ok());
  ASSERT_TRUE(env.replace_file("/d/file", "bytes").ok());
  ASSERT_TRUE(set_aside(env, "/d/file").ok());
  EXPECT_FALSE(env.read_file("/d/file").ok());
  EXPECT_EQ(*env.read_file("/d/file.damaged"), "bytes");
}

}  // namespace
}  // namespace walle::store
