// Any bytes as a segment, with all checksums made right so that the decoders behind them are reached.
#include <cstring>
#include <string>

#include "base/crc32c.h"
#include "store/segment.h"
#include "stream/event/event_segment.h"

using namespace walle::stream;

namespace {
constexpr size_t kHead = 48;

Catalog all_types() {
  Catalog c;
  const std::vector<FieldDecl> fields{{"i", FieldType::i64, Sensitivity::open, 0},
                                      {"d", FieldType::f64, Sensitivity::open, 0},
                                      {"b", FieldType::boolean, Sensitivity::open, 0},
                                      {"t", FieldType::text, Sensitivity::open, 0}};
  for (const auto& [name, kind] :
       {std::pair("click", EventKind::click), std::pair("mark", EventKind::custom)})
    if (!c.declare({name, kind, fields}).ok()) __builtin_trap();
  if (!c.page("home").ok() || !c.state("wifi").ok()) __builtin_trap();
  return c;
}

uint32_t load(const std::string& bytes, size_t at) {
  uint32_t v;
  std::memcpy(&v, bytes.data() + at, sizeof v);
  return v;
}
void store_crc(std::string& bytes, size_t at, uint32_t crc) {
  std::memcpy(bytes.data() + at, &crc, sizeof crc);
}

// Column: u8 name size, name, u8 type, u8 codec, u32 values, u32 raw size, u32 stored size, u32 crc, stored
// bytes.
void mend(std::string& bytes) {
  if (bytes.size() < kHead) return;
  std::memcpy(bytes.data(), "WSEG0001", 8);
  store_crc(bytes, kHead - 4, walle::base::crc32c(0, bytes.data(), kHead - 4));
  for (size_t at = kHead; at < bytes.size();) {
    const size_t head = 15u + static_cast<uint8_t>(bytes[at]);
    if (head + 4 > bytes.size() - at) return;
    const size_t stored = load(bytes, at + head - 4);
    if (stored > bytes.size() - at - head - 4) return;
    store_crc(bytes, at + head,
              walle::base::crc32c(walle::base::crc32c(0, bytes.data() + at, head),
                                  bytes.data() + at + head + 4, stored));
    at += head + 4 + stored;
  }
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Catalog catalog = all_types();
  std::string bytes(reinterpret_cast<const char*>(data), size);
  mend(bytes);
  const auto segment = walle::store::decode_segment(bytes);
  if (!segment.ok()) return 0;
  size_t seen = 0;
  const auto read = read_event_segment(*segment, catalog, [&](const Event& e) {
    if (e.page >= catalog.page_count(e.event)) __builtin_trap();
    for (const Value& v : e.contents)
      if (v.present && v.type == FieldType::text) seen += std::string(v.text).size();
    return ++seen < 100'000;
  });
  (void)read.ok();
  return 0;
}
