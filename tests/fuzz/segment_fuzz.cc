// Any bytes as a segment, with all checksums made right so that the decoders behind them are reached.
#include <limits>
#include <string>

#include "base/bytes.h"
#include "store/segment.h"
#include "stream/event/event_segment.h"

using namespace walle::stream;
using walle::ColumnType;
using walle::base::load_le;
using walle::base::store_le;

namespace {
constexpr size_t kHead = 48;

Catalog all_types() {
  Catalog c;
  const std::vector<FieldDecl> fields{{"i", ColumnType::integer, Sensitivity::open, 0},
                                      {"d", ColumnType::real, Sensitivity::open, 0},
                                      {"b", ColumnType::boolean, Sensitivity::open, 0},
                                      {"t", ColumnType::text, Sensitivity::open, 0}};
  for (const auto& [name, kind] :
       {std::pair("click", EventKind::click), std::pair("mark", EventKind::custom)})
    if (!c.declare({name, kind, fields}).ok()) __builtin_trap();
  if (!c.page("home").ok() || !c.state("wifi").ok()) __builtin_trap();
  return c;
}

// Column: u8 name size, name, u8 type, u8 codec, u32 rows, u32 values, u32 raw size, u32 stored size, u32
// crc, stored bytes.
void mend(std::string& bytes) {
  if (bytes.size() < kHead) return;
  bytes.replace(0, 8, "WSEG0001");
  store_le(bytes.data() + kHead - 4, walle::base::crc32c(0, bytes.data(), kHead - 4));
  for (size_t at = kHead; at < bytes.size();) {
    const size_t head = 19u + static_cast<uint8_t>(bytes[at]);
    if (head + 4 > bytes.size() - at) return;
    const size_t stored = load_le<uint32_t>(bytes.data() + at + head - 4);
    if (stored > bytes.size() - at - head - 4) return;
    const uint32_t crc = walle::base::crc32c(0, bytes.data() + at, head);
    store_le(bytes.data() + at + head, walle::base::crc32c(crc, bytes.data() + at + head + 4, stored));
    at += head + 4 + stored;
  }
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Catalog catalog = all_types();
  std::string bytes(reinterpret_cast<const char*>(data), size);
  mend(bytes);
  (void)walle::store::decode_segment(bytes).ok();
  auto segment = walle::store::SegmentReader::open(bytes);
  if (!segment.ok()) return 0;
  size_t seen = 0;
  auto events = EventSegmentReader::make(*segment, catalog);
  if (!events.ok()) return 0;
  const auto read = events->read(0, std::numeric_limits<int64_t>::min(), [&](const Event& e) {
    if (e.page >= catalog.page_count(e.event)) __builtin_trap();
    for (const Value& v : e.contents)
      if (v.present && v.type == ColumnType::text) seen += std::string(v.text).size();
    return ++seen < 100'000;
  });
  (void)read.ok();
  return 0;
}
