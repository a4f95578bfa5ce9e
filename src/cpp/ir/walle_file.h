// .walle files: save, load, parse. The layout is docs/reference/formats/model.md.
//
// load() maps the file; constants are windows of the map and keep it alive. parse() does the same over any
// bytes. Both check the header, the structure and every size before they allocate for it; what the graph
// means is checked by ir/verify.h afterwards.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "ir/graph.h"

namespace walle::ir {

inline constexpr size_t kWalleHeaderBytes = 64;
inline constexpr std::string_view kWalleMagic = "WALLEMDL";

bool looks_like_walle(std::span<const std::byte> bytes);

Result<ModelData> load_walle(const std::string& path);
// `owner` keeps `bytes` alive; `where` names the source in messages.
Result<ModelData> parse_walle(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                              const std::string& where);

// The whole file in memory.
Result<std::string> serialize_walle(const ModelData& data);
// Written beside and renamed: readers see the old file or the new one.
Status save_walle(const ModelData& data, const std::string& path);

namespace detail {
// The graph part alone, checksums already dealt with; for walle_file.cc and the fuzzer, which cannot guess
// checksums.
Result<ModelData> parse_graph(std::span<const std::byte> graph, std::span<const std::byte> weights,
                              std::shared_ptr<const void> owner, const std::string& where);
Result<std::pair<std::string, std::string>> serialize_parts(const ModelData& data);  // graph, weights
}  // namespace detail

}  // namespace walle::ir
