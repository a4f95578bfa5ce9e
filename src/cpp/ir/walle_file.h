// .walle files: save, load, parse. The layout is docs/reference/formats/model.md.
//
// Header, graph, weights, in this order. The graph is a FlatBuffer because it must be checked before it is
// believed, and can be: in place, by the library's own verifier. The weights lie outside it
// because FlatBuffers address 2 GiB, and because as they are - aligned, row-major, little-endian - they can
// be used where the file is mapped: nothing is copied, processes share the pages, and a part that no plan
// reads is never loaded. The graph comes first, so that its few pages are read in one go and the area behind
// it needs no size of its own to be trusted: it ends with the file.
//
// load() maps the file; constants are windows of the map and keep it alive. parse() does the same over any
// bytes. Both check the header, the structure and every size before they allocate for it; what the graph
// means is checked by ir/verify.h afterwards. Weights have a checksum per segment, which is compared when
// asked for: it reads all of them, 19 ms for 100 MB that are in the page cache (one core of a Xeon).
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "ir/graph.h"

namespace walle::ir {

// One cache line and base::kSegmentAlignment, so that the graph behind it is aligned; 56 bytes are used.
inline constexpr size_t kWalleHeaderBytes = 64;
inline constexpr std::string_view kWalleMagic = "WALLEMDL";

bool looks_like_walle(std::span<const std::byte> bytes);

enum class Check {
  graph,    // everything but the bytes of weights
  weights,  // their checksums too
};

// Small files are read and not mapped, and their weights always checked.
Result<ModelData> load_walle(const std::string& path, Check check = Check::graph);
// Constants are windows of `bytes`; `where` names the source in messages.
Result<ModelData> parse_walle(const Buffer& bytes, const std::string& where, Check check);

// The whole file in memory: `room` gives memory for so many bytes, which must be zero.
Status serialize_walle(const ModelData& data, const std::function<std::byte*(size_t)>& room);
Result<std::string> serialize_walle(const ModelData& data);
// Written beside and renamed: readers see the old file or the new one. Weights go from where they lie to the
// file in pieces, and those that lie in a file leave this process's memory again.
Status save_walle(const ModelData& data, const std::string& path);

namespace detail {
// Of schemas/model.fbs; when it rises is said in schemas/README.md.
inline constexpr uint32_t kSchemaVersion = 1;

// The graph part alone, checksums already dealt with; for walle_file.cc and the fuzzer, which cannot guess
// checksums.
Result<ModelData> parse_graph(std::span<const std::byte> graph, const Buffer& weights,
                              const std::string& where, Check check = Check::graph);

// A graph part whose checksums of the weights are still zero.
struct Parts {
  std::string graph;
  std::vector<Tensor> segments;   // in the order of the weight area
  std::vector<uint64_t> offsets;  // of each, in the area
  uint64_t weights_bytes = 0;
  size_t checksums = 0;  // where they lie in `graph`, 4 bytes each
};
Result<Parts> serialize_parts(const ModelData& data);
}  // namespace detail

}  // namespace walle::ir
