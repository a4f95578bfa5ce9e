// Any bytes as what a device's commits are made of: frames, rows, the manifest of tables, a segment of rows.
#include "container/device/commit_frame.h"
#include "store/table_manifest.h"
#include "store/table_segment.h"

using namespace walle;

namespace {
const std::vector<store::ColumnDecl>& columns() {
  static const std::vector<store::ColumnDecl> all{{"i", ColumnType::integer},
                                                  {"f", ColumnType::real},
                                                  {"b", ColumnType::boolean},
                                                  {"t", ColumnType::text},
                                                  {"y", ColumnType::bytes}};
  return all;
}

size_t read_rows(std::string_view bytes) {
  store::RowReader reader(columns(), bytes);
  size_t seen = 0;
  while (reader.next())
    for (const Cell& c : reader.cells()) seen += c.text.size();
  return seen;
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  container::FrameIn frame;
  size_t seen = read_rows(bytes);
  if (container::read_frame(bytes, frame))
    for (const container::FrameRows& r : frame.rows) seen += read_rows(r.rows.bytes);
  if (const auto manifest = store::TableManifest::parse(bytes)) {
    // What reads is written as it was.
    if (manifest->serialize() != bytes) __builtin_trap();
  }
  const auto segment = store::read_table_segment(bytes);
  if (segment.ok() && segment->rows() == 0) __builtin_trap();
  store::TableSegmentBuilder builder({.name = "t", .columns = columns()});
  (void)builder.add(1, 5, bytes);
  if (builder.rows() > 0 && !store::read_table_segment(builder.finish()).ok() && seen == SIZE_MAX)
    __builtin_trap();
  return 0;
}
