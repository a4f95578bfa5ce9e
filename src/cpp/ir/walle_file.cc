#include "ir/walle_file.h"

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

// Against damage, not against forgery; CRC-32C as in every other format of ours. The graph gets one because a
// flipped bit in it could mean another model that is valid. The weights get none: it would read every page of
// them at every load.
uint32_t checksum(const void* data, size_t size) { return base::crc32c(0, data, size); }

Error damaged(std::string given, std::string expected, const std::string& where) {
  return model_error(std::move(given), std::move(expected), where, kDamaged);
}

// In the order in which what is read can be believed: is it such a file, is it a version whose fields lie
// where they are read, are the bytes what was written, and only then what they say. Sizes are compared by
// subtraction from the file's own size, so that no sum can overflow.
Result<Header> read_header(std::span<const std::byte> bytes, const std::string& where) {
  if (bytes.size() < kWalleHeaderBytes)
    return damaged("a file of " + std::to_string(bytes.size()) + " bytes",
                   "at least " + std::to_string(kWalleHeaderBytes), where);
  if (!looks_like_walle(bytes))
    return damaged("another magic number", "\"" + std::string(kWalleMagic) + "\" at offset 0", where);
  base::ByteReader r(bytes);
  r.expect(kWalleMagic);
  const auto version = r.get<uint32_t>();
  if (version != kLayoutVersion)
    return model_error("layout version " + std::to_string(version),
                       "version " + std::to_string(kLayoutVersion), where + ", offset 8",
                       "use a runtime as new as the converter");
  r.get<uint32_t>();  // flags, of which none is defined yet
  Header h;
  h.graph_offset = r.get<uint64_t>();
  h.graph_bytes = r.get<uint64_t>();
  h.weights_offset = r.get<uint64_t>();
  h.weights_bytes = r.get<uint64_t>();
  h.graph_crc = r.get<uint32_t>();
  if (!r.checksum()) return damaged("a header with a wrong checksum", "its CRC-32C", where + ", offset 52");
  const uint64_t size = bytes.size();
  if (h.graph_offset != kWalleHeaderBytes || h.graph_bytes > size - h.graph_offset)
    return damaged("a graph of " + std::to_string(h.graph_bytes) + " bytes at " +
                       std::to_string(h.graph_offset) + " in a file of " + std::to_string(size),
                   "a range inside the file", where + ", offset 16");
  if (h.graph_bytes > static_cast<uint64_t>(base::kMaxGraphBytes))
    return damaged("a graph of " + std::to_string(h.graph_bytes) + " bytes",
                   "at most " + std::to_string(base::kMaxGraphBytes), where + ", offset 24");
  if (h.weights_offset % static_cast<uint64_t>(base::kSegmentAlignment) != 0 ||
      h.weights_offset < h.graph_offset + h.graph_bytes || h.weights_offset > size ||
      h.weights_bytes != size - h.weights_offset)
    return damaged("a weight area of " + std::to_string(h.weights_bytes) + " bytes at " +
                       std::to_string(h.weights_offset) + " in a file of " + std::to_string(size),
                   "an aligned range after the graph that ends with the file", where + ", offset 32");
  return h;
}

}  // namespace

bool looks_like_walle(std::span<const std::byte> bytes) {
  return bytes.size() >= kWalleMagic.size() &&
         std::memcmp(bytes.data(), kWalleMagic.data(), kWalleMagic.size()) == 0;
}

Result<ModelData> parse_walle(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                              const std::string& where) {
  WALLE_ASSIGN(const Header h, read_header(bytes, where));
  const auto graph = bytes.subspan(h.graph_offset, h.graph_bytes);
  if (h.graph_crc != checksum(graph.data(), graph.size()))
    return damaged("a graph with a wrong checksum", "its CRC-32C", where + ", offset 48");
  return detail::parse_graph(graph, bytes.subspan(h.weights_offset, h.weights_bytes), std::move(owner),
                             where);
}

// The map is handed on as the owner of every window in it: the file stays mapped while one constant lives.
Result<ModelData> load_walle(const std::string& path) {
  WALLE_ASSIGN(std::shared_ptr<base::MappedFile> file, base::MappedFile::open(path));
  const auto bytes = file->bytes();
  return parse_walle(bytes, std::move(file), "file '" + path + "'");
}

// One string, weights included: replace_file() takes a file whole, so that readers never meet half of one,
// and what converts a model holds its weights in memory anyway.
Result<std::string> serialize_walle(const ModelData& data) {
  WALLE_ASSIGN(auto parts, detail::serialize_parts(data));
  const auto& [graph, weights] = parts;
  const auto weights_offset = static_cast<size_t>(
      base::round_up(static_cast<int64_t>(kWalleHeaderBytes + graph.size()), base::kSegmentAlignment));
  base::ByteWriter out;
  out.reserve(weights_offset + weights.size());
  out.put_bytes(kWalleMagic);
  out.put(kLayoutVersion);
  out.put(uint32_t{0});  // flags
  out.put(uint64_t{kWalleHeaderBytes});
  out.put(uint64_t{graph.size()});
  out.put(uint64_t{weights_offset});
  out.put(uint64_t{weights.size()});
  out.put(checksum(graph.data(), graph.size()));
  out.put_checksum();
  out.pad_to(kWalleHeaderBytes);
  out.put_bytes(graph);
  out.pad_to(weights_offset);
  out.put_bytes(weights);
  return out.take();
}

Status save_walle(const ModelData& data, const std::string& path) {
  WALLE_ASSIGN(const std::string bytes, serialize_walle(data));
  return Env::system().replace_file(path, bytes);
}

}  // namespace walle::ir
