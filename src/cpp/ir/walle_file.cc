#include "ir/walle_file.h"

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "base/checked.h"
#include "base/crc32c.h"
#include "base/env.h"
#include "base/mapped_file.h"

namespace walle::ir {

namespace {

constexpr uint32_t kLayoutVersion = 1;  // of header and areas; the schema has a version of its own
constexpr const char* kDamaged = "the file is damaged or not a .walle file: copy or convert it again";

struct Header {
  uint64_t graph_offset = 0;
  uint64_t graph_bytes = 0;
  uint64_t weights_offset = 0;
  uint64_t weights_bytes = 0;
  uint32_t graph_crc = 0;
};

// Against damage, not against forgery; CRC-32C as in every other format of ours. The graph's is compared at
// every load because a flipped bit in it could mean another model that is valid.
uint32_t checksum(const void* data, size_t size) { return base::crc32c(0, data, size); }

Error damaged(Text given, Text expected, Text where) { return model_error(given, expected, where, kDamaged); }

// In the order in which what is read can be believed: is it such a file, is it a version whose fields lie
// where they are read, are the bytes what was written, and only then what they say. Sizes are compared by
// subtraction from the file's own size, so that no sum can overflow.
Result<Header> read_header(std::span<const std::byte> bytes, const std::string& where) {
  if (bytes.size() < kWalleHeaderBytes)
    return damaged({"a file of ", bytes.size(), " bytes"}, {"at least ", kWalleHeaderBytes}, where);
  if (!looks_like_walle(bytes))
    return damaged("another magic number", {"\"", kWalleMagic, "\" at offset 0"}, where);
  base::ByteReader r(bytes);
  r.expect(kWalleMagic);
  const auto version = r.get<uint32_t>();
  if (version != kLayoutVersion)
    return model_error({"layout version ", version}, {"version ", kLayoutVersion}, {where, ", offset 8"},
                       "use a runtime as new as the converter");
  r.get<uint32_t>();  // flags, of which none is defined yet
  Header h;
  h.graph_offset = r.get<uint64_t>();
  h.graph_bytes = r.get<uint64_t>();
  h.weights_offset = r.get<uint64_t>();
  h.weights_bytes = r.get<uint64_t>();
  h.graph_crc = r.get<uint32_t>();
  if (!r.checksum()) return damaged("a header with a wrong checksum", "its CRC-32C", {where, ", offset 52"});
  const uint64_t size = bytes.size();
  if (h.graph_offset != kWalleHeaderBytes || h.graph_bytes > size - h.graph_offset)
    return damaged({"a graph of ", h.graph_bytes, " bytes at ", h.graph_offset, " in a file of ", size},
                   "a range inside the file", {where, ", offset 16"});
  if (h.graph_bytes > static_cast<uint64_t>(base::kMaxGraphBytes))
    return damaged({"a graph of ", h.graph_bytes, " bytes"}, {"at most ", base::kMaxGraphBytes},
                   {where, ", offset 24"});
  if (h.weights_offset <= size && h.weights_bytes > size - h.weights_offset)
    return model_error({"a file of ", size, " bytes, cut short"},
                       {"weights up to byte ", h.weights_offset + h.weights_bytes}, where,
                       "copy it again, or convert the model again");
  if (h.weights_offset % static_cast<uint64_t>(base::kSegmentAlignment) != 0 ||
      h.weights_offset < h.graph_offset + h.graph_bytes || h.weights_offset > size ||
      h.weights_bytes != size - h.weights_offset)
    return damaged(
        {"a weight area of ", h.weights_bytes, " bytes at ", h.weights_offset, " in a file of ", size},
        "an aligned range after the graph that ends with the file", {where, ", offset 32"});
  return h;
}

}  // namespace

bool looks_like_walle(std::span<const std::byte> bytes) {
  return bytes.size() >= kWalleMagic.size() &&
         std::memcmp(bytes.data(), kWalleMagic.data(), kWalleMagic.size()) == 0;
}

Result<ModelData> parse_walle(const Buffer& bytes, const std::string& where, Check check) {
  const std::span<const std::byte> all(bytes.data(), bytes.size());
  WALLE_ASSIGN(const Header h, read_header(all, where));
  const auto graph = all.subspan(h.graph_offset, h.graph_bytes);
  if (h.graph_crc != checksum(graph.data(), graph.size()))
    return damaged("a graph with a wrong checksum", "its CRC-32C", {where, ", offset 48"});
  WALLE_ASSIGN(ModelData data,
               detail::parse_graph(graph, bytes.part(h.weights_offset, h.weights_bytes), where, check));
  if (bytes.file()) data.files.push_back(bytes);
  return data;
}

// The map is handed on as the owner of every window in it: the file stays mapped while one constant lives.
Result<ModelData> load_walle(const std::string& path, Check check) {
  WALLE_ASSIGN(std::shared_ptr<base::MappedFile> file, base::MappedFile::open(path));
  if (!file->mapped()) check = Check::weights;
  return parse_walle(Buffer::of_file(std::move(file)), "file '" + path + "'", check);
}

namespace {

// What is written at once: it is still in the second-level cache between its checksum and the copy.
constexpr size_t kPiece = size_t{1} << 18;

// A graph and its weights on their way into a file. The weights go first, once each, because the checksums in
// the graph part are known only then.
class Writer {
 public:
  explicit Writer(detail::Parts parts)
      : parts_(std::move(parts)),
        weights_offset_(static_cast<uint64_t>(base::round_up(
            static_cast<int64_t>(kWalleHeaderBytes + parts_.graph.size()), base::kSegmentAlignment))) {}

  uint64_t size() const { return weights_offset_ + parts_.weights_bytes; }

  Status write(base::FileWriter& out) {
    for (size_t i = 0; i < parts_.segments.size(); ++i) {
      WALLE_ASSIGN(const uint32_t crc, segment(parts_.segments[i], weights_offset_ + parts_.offsets[i], out));
      std::memcpy(parts_.graph.data() + parts_.checksums + i * sizeof crc, &crc, sizeof crc);
    }
    const std::string head = header();
    WALLE_TRY(out.write(0, std::as_bytes(std::span(head))));
    return out.write(kWalleHeaderBytes, std::as_bytes(std::span(parts_.graph)));
  }

 private:
  static Result<uint32_t> segment(const Tensor& t, uint64_t offset, base::FileWriter& out) {
    const auto* data = t.address();
    const auto bytes = static_cast<size_t>(t.bytes());
    uint32_t crc = 0;
    for (size_t at = 0; at < bytes; at += kPiece) {
      const size_t size = std::min(kPiece, bytes - at);
      crc = base::crc32c(crc, data + at, size);
      WALLE_TRY(out.write(offset + at, {data + at, size}));
      t.buffer().drop(t.byte_offset() + at, size);
    }
    return crc;
  }

  std::string header() const {
    base::ByteWriter out;
    out.put_bytes(kWalleMagic);
    out.put(kLayoutVersion);
    out.put(uint32_t{0});  // flags
    out.put(uint64_t{kWalleHeaderBytes});
    out.put(uint64_t{parts_.graph.size()});
    out.put(weights_offset_);
    out.put(parts_.weights_bytes);
    out.put(checksum(parts_.graph.data(), parts_.graph.size()));
    out.put_checksum();
    out.pad_to(kWalleHeaderBytes);
    return out.take();
  }

  detail::Parts parts_;
  uint64_t weights_offset_;
};

class MemoryWriter final : public base::FileWriter {
 public:
  explicit MemoryWriter(std::byte* to) : to_(to) {}
  Status write(uint64_t offset, std::span<const std::byte> bytes) override {
    if (!bytes.empty()) std::memcpy(to_ + offset, bytes.data(), bytes.size());
    return {};
  }

 private:
  std::byte* to_;
};

Result<Writer> writer_of(const ModelData& data) {
  WALLE_TRY(check_files(data));
  WALLE_ASSIGN(detail::Parts parts, detail::serialize_parts(data));
  return Writer(std::move(parts));
}

}  // namespace

Status serialize_walle(const ModelData& data, const std::function<std::byte*(size_t)>& room) {
  WALLE_ASSIGN(Writer writer, writer_of(data));
  MemoryWriter out(room(static_cast<size_t>(writer.size())));
  return writer.write(out);
}

Result<std::string> serialize_walle(const ModelData& data) {
  std::string out;
  WALLE_TRY(serialize_walle(data, [&](size_t size) {
    out.resize(size);
    return reinterpret_cast<std::byte*>(out.data());
  }));
  return out;
}

Status save_walle(const ModelData& data, const std::string& path) {
  WALLE_ASSIGN(Writer writer, writer_of(data));
  return Env::system().replace_file(path, writer.size(), base::FileAccess::umask,
                                    [&](base::FileWriter& out) { return writer.write(out); });
}

}  // namespace walle::ir
