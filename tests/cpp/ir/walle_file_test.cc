#include "ir/walle_file.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/crc32c.h"
#include "sample.h"
#include "schemas/model_generated.h"

namespace walle::ir {
namespace {

Result<ModelData> parse(const std::string& bytes, Check check = Check::graph) {
  Buffer copy = Buffer::allocate(bytes.size() + 1).value();  // aligned, as a mapped file is
  std::memcpy(copy.data(), bytes.data(), bytes.size());
  return parse_walle(copy.part(0, bytes.size()), "test", check);
}

// Of a graph part in aligned memory of its own.
Buffer aligned(const std::string& bytes) {
  Buffer copy = Buffer::allocate(bytes.size()).value();
  std::memcpy(copy.data(), bytes.data(), bytes.size());
  return copy;
}

class TempFile {
 public:
  TempFile()
      : path_(std::filesystem::temp_directory_path() /
              ("walle_file_test_" + std::to_string(::getpid()) + ".walle")) {}
  ~TempFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

TEST(WalleFile, RoundTrip) {
  const ModelData m = sample();
  const auto back = parse(serialize_walle(m).value());
  ASSERT_TRUE(back.ok()) << back.error().message();
  EXPECT_EQ(dump(back->graph), dump(m.graph));
  EXPECT_EQ(back->metadata, m.metadata);
  ASSERT_EQ(back->signatures.size(), 1U);
  EXPECT_EQ(back->signatures[0].inputs, m.signatures[0].inputs);
  const Value& x = back->graph.at(0);
  ASSERT_TRUE(x.shape.has_value());
  EXPECT_EQ((*x.shape)[0].symbol, "n");
  EXPECT_EQ((*x.shape)[1].size, 3);
  EXPECT_TRUE(back->graph.at(1).constant->identical(*m.graph.at(1).constant));
  EXPECT_DOUBLE_EQ(back->graph.nodes[1].attributes.get_float("alpha", 0), 0.5);
  EXPECT_EQ(back->graph.nodes[1].attributes.get_string("mode", ""), "linear");
}

TEST(WalleFile, MappedConstantsAreAlignedAndOutliveTheLoader) {
  const TempFile file;
  ASSERT_TRUE(save_walle(sample(), file.path()).ok());
  auto loaded = load_walle(file.path());
  ASSERT_TRUE(loaded.ok()) << loaded.error().message();
  Tensor w = *loaded->graph.at(1).constant;
  EXPECT_EQ(reinterpret_cast<uintptr_t>(w.data()) % 64, 0U);
  EXPECT_FALSE(w.buffer().writable());
  loaded = internal_error("gone", "test");  // the tensor alone keeps the map alive
  EXPECT_FLOAT_EQ(w.as<float>()[2], 3.0F);
}

TEST(WalleFile, EqualMemoryIsStoredOnce) {
  ModelData m;
  const Tensor big = ramp({100000});
  m.graph = *nested(6, big);
  const std::string bytes = serialize_walle(m).value();
  EXPECT_LT(bytes.size(), 2U * 400000);
  const auto back = parse(bytes);
  ASSERT_TRUE(back.ok()) << back.error().message();
  EXPECT_EQ(dump(back->graph), dump(m.graph));
}

TEST(WalleFile, EveryTruncationIsRefused) {
  const std::string bytes = serialize_walle(sample()).value();
  for (size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(parse(bytes.substr(0, size)).ok()) << size;
}

TEST(WalleFile, EveryFlippedBitOfHeaderAndGraphIsRefused) {
  const std::string bytes = serialize_walle(sample()).value();
  const size_t graph_end = 64 + *reinterpret_cast<const uint64_t*>(bytes.data() + 24);
  for (size_t i = 0; i < graph_end; ++i) {
    if (i >= 56 && i < 64) continue;  // reserved, not read
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      EXPECT_FALSE(parse(damaged).ok()) << i << " bit " << bit;
    }
  }
}

// With the checksum out of the way: whatever the bytes say, an answer and no crash (run under the sanitizers
// too).
TEST(WalleFile, DamagedGraphsAreSurvived) {
  const auto parts = detail::serialize_parts(sample()).value();
  const Buffer weights = Buffer::allocate(parts.weights_bytes).value();
  std::memset(weights.data(), 0, weights.size());
  int parsed = 0;
  for (size_t i = 0; i < parts.graph.size(); ++i)
    for (const int value : {0, 1, 0x7f, 0x80, 0xff}) {
      Buffer graph = aligned(parts.graph);
      graph.data()[i] = static_cast<std::byte>(value);
      auto data = detail::parse_graph({graph.data(), graph.size()}, weights, "test");
      static_cast<void>(
          detail::parse_graph({graph.data(), graph.size()}, weights, "test", Check::weights).ok());
      if (!data.ok()) continue;
      ++parsed;
      const Status status = verify(*data, sample_op);
      (void)status.ok();
    }
  EXPECT_GT(parsed, 0);
}

// A model of `count` boolean constants, its graph part patched so that constant i holds the bytes segments[i]
// of the weights.
Result<ModelData> with_booleans(const std::string& weights,
                                const std::vector<std::pair<uint64_t, uint64_t>>& segments) {
  ModelData m;
  for (size_t i = 0; i < segments.size(); ++i) {
    const Shape shape{static_cast<int64_t>(segments[i].second)};
    m.graph.add_value(constant("mask" + std::to_string(i), Tensor::zeros(DType::boolean, shape).value()));
    m.graph.outputs.push_back(static_cast<ValueId>(i));
  }
  auto parts = detail::serialize_parts(m).value();
  uint64_t offset = 0;
  for (const auto& [want, bytes] : segments) {
    const uint64_t had[] = {offset, bytes};
    const std::string_view old(reinterpret_cast<const char*>(had), sizeof(had));
    const size_t at = parts.graph.find(old);
    EXPECT_NE(at, std::string::npos);
    std::memcpy(parts.graph.data() + at, &want, sizeof(want));
    offset += (bytes + 63) / 64 * 64;
  }
  const Buffer graph = aligned(parts.graph);
  return detail::parse_graph({graph.data(), graph.size()}, aligned(weights), "test");
}

TEST(WalleFile, ABooleanIsOneByteZeroOrOne) {
  std::string weights(70, '\1');
  weights[3] = 0;
  auto fine = with_booleans(weights, {{0, 70}});
  ASSERT_TRUE(fine.ok()) << fine.error().message();
  EXPECT_TRUE(fine->graph.at(0).constant->as<bool>()[2]);
  EXPECT_FALSE(fine->graph.at(0).constant->as<bool>()[3]);
  for (const int byte : {2, 0x80, 0xff}) {
    weights[69] = static_cast<char>(byte);
    const auto refused = with_booleans(weights, {{0, 70}});
    ASSERT_FALSE(refused.ok()) << byte;
    EXPECT_NE(refused.error().message().find("neither 0 nor 1"), std::string::npos)
        << refused.error().message();
  }
}

TEST(WalleFile, BooleansAreReadNoOftenerThanThereAreBytes) {
  const std::string weights(256, '\0');
  EXPECT_TRUE(with_booleans(weights, {{0, 128}, {128, 128}}).ok());
  const auto refused = with_booleans(weights, {{0, 256}, {64, 192}});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message().find("overlap"), std::string::npos) << refused.error().message();
}

TEST(WalleFile, EveryFlippedBitOfTheWeightsIsFoundWhenAskedFor) {
  const std::string bytes = serialize_walle(sample()).value();
  EXPECT_TRUE(parse(bytes, Check::weights).ok());
  const size_t weights = *reinterpret_cast<const uint64_t*>(bytes.data() + 32);
  for (size_t i = weights; i < bytes.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      EXPECT_TRUE(parse(damaged).ok());
      const auto refused = parse(damaged, Check::weights);
      ASSERT_FALSE(refused.ok()) << i << " bit " << bit;
      EXPECT_NE(refused.error().message().find("segment 0"), std::string::npos) << refused.error().message();
    }
}

// Files of before checksums, and forged ones: refused, not believed.
TEST(WalleFile, SegmentsWithoutChecksumsAreNotChecked) {
  namespace fb = walle_rt::fb;
  flatbuffers::FlatBufferBuilder b;
  const auto graph = fb::CreateGraph(b);
  const auto segments = b.CreateVectorOfStructs(std::vector{fb::Segment(0, 64), fb::Segment(0, 64)});
  const auto sums = b.CreateVector(std::vector<uint32_t>{0, 0});
  fb::FinishModelBuffer(b, fb::CreateModel(b, 1, graph, 0, 0, segments, sums));
  Buffer copy = Buffer::allocate(b.GetSize()).value();
  std::memcpy(copy.data(), b.GetBufferPointer(), b.GetSize());
  const Buffer weights = aligned(std::string(64, '\0'));
  const std::span<const std::byte> bytes(copy.data(), b.GetSize());
  EXPECT_TRUE(detail::parse_graph(bytes, weights, "test").ok());
  EXPECT_FALSE(detail::parse_graph(bytes, weights, "test", Check::weights).ok());
  flatbuffers::FlatBufferBuilder none;
  const auto empty = fb::CreateGraph(none);
  const auto one = none.CreateVectorOfStructs(std::vector{fb::Segment(0, 64)});
  fb::FinishModelBuffer(none, fb::CreateModel(none, 1, empty, 0, 0, one));
  copy = Buffer::allocate(none.GetSize()).value();
  std::memcpy(copy.data(), none.GetBufferPointer(), none.GetSize());
  const auto refused = detail::parse_graph({copy.data(), none.GetSize()}, weights, "test", Check::weights);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message().find("0 checksums"), std::string::npos) << refused.error().message();
}

TEST(WalleFile, AFileCutShortSaysSo) {
  ModelData m = sample();
  m.graph.at(1).constant = ramp({3});
  const std::string bytes = serialize_walle(m).value();
  const auto cut = parse(bytes.substr(0, bytes.size() - 1));
  ASSERT_FALSE(cut.ok());
  EXPECT_NE(cut.error().message().find("cut short"), std::string::npos) << cut.error().message();
  EXPECT_NE(cut.error().message().find(std::to_string(bytes.size())), std::string::npos);
}

// A few bytes of references to one table would have it verified and decoded over and over.
TEST(WalleFile, TablesAreUsedOnce) {
  namespace fb = walle_rt::fb;
  const auto parsed = [](size_t uses) {
    flatbuffers::FlatBufferBuilder b;
    const auto op = b.CreateString("Add");
    const std::vector<flatbuffers::Offset<fb::Node>> nodes(uses, fb::CreateNode(b, op));
    fb::FinishModelBuffer(b, fb::CreateModel(b, 1, fb::CreateGraph(b, 0, 0, b.CreateVector(nodes))));
    Buffer copy = Buffer::allocate(b.GetSize()).value();
    std::memcpy(copy.data(), b.GetBufferPointer(), b.GetSize());
    return detail::parse_graph({copy.data(), b.GetSize()}, Buffer(), "test");
  };
  EXPECT_TRUE(parsed(1).ok()) << parsed(1).error().message();
  const auto refused = parsed(10000);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message().find("structure"), std::string::npos) << refused.error().message();
}

// The first drafts of the schema kept them in another field; an empty list would be a silent misreading.
TEST(WalleFile, ListsOfTextsInTheOldFieldAreRefused) {
  namespace fb = walle_rt::fb;
  flatbuffers::FlatBufferBuilder b;
  const auto name = b.CreateString("labels"), op = b.CreateString("Add");
  fb::AttributeBuilder attribute(b);
  attribute.add_name(name);
  attribute.add_kind(fb::AttributeKind::strings);
  const auto attributes = b.CreateVector(std::vector{attribute.Finish()});
  const auto nodes = b.CreateVector(std::vector{fb::CreateNode(b, op, 0, 0, 0, attributes)});
  fb::FinishModelBuffer(b, fb::CreateModel(b, 1, fb::CreateGraph(b, 0, 0, nodes)));
  Buffer copy = Buffer::allocate(b.GetSize()).value();
  std::memcpy(copy.data(), b.GetBufferPointer(), b.GetSize());
  const auto refused = detail::parse_graph({copy.data(), b.GetSize()}, Buffer(), "test");
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message().find("'labels'"), std::string::npos) << refused.error().message();
}

TEST(WalleFile, NewerVersionsAreRefusedByName) {
  std::string bytes = serialize_walle(sample()).value();
  bytes[8] = 2;
  const uint32_t sum = base::crc32c(0, bytes.data(), 52);
  std::memcpy(bytes.data() + 52, &sum, 4);
  const auto result = parse(bytes);
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message().find("version 2"), std::string::npos);
}

TEST(WalleFile, SavingReplacesAtomicallyAndReportsFailure) {
  const TempFile file;
  ASSERT_TRUE(save_walle(sample(), file.path()).ok());
  ASSERT_TRUE(save_walle(sample(), file.path()).ok());
  EXPECT_FALSE(save_walle(sample(), "/nonexistent/folder/m.walle").ok());
}

}  // namespace
}  // namespace walle::ir
