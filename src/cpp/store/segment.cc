#include "store/segment.h"

#include <zlib.h>

#include <algorithm>
#include <optional>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "store/column_bytes.h"

namespace walle::store {

namespace {
using base::ByteReader;
using base::ByteWriter;
using tensor::Column;

constexpr std::string_view kSegmentMagic = "WSEG0001";
// 8 magic, 8 first number, 8 rows, 16 times, 4 columns, 4 checksum.
constexpr size_t kHeadBytes = 48;
// A segment is some 32 MB of records of at least 46 bytes each (event_log.cc): 700,000 rows. The limit leaves
// room for other writers and keeps a forged count from asking for memory.
constexpr uint64_t kMaxRows = 1 << 24;
constexpr uint32_t kMaxColumns = 1 << 16;
constexpr uint32_t kMaxRaw = 1 << 28;  // a column before compression: limits what a damaged size can ask for
// All values of a segment in memory: a few bytes can name one long word very often. Writers stay below a
// fifth of it.
constexpr int64_t kMaxDecoded = 1 << 30;
// A column that claims to unpack further is refused before memory is taken for it: deflate gains at most
// 1,032 to 1.
constexpr uint32_t kMaxRatio = 1100;

// zlib's own default. Of 20,000 Open Bandit events, 1.42 MB of columns become 197 KB in 41 ms; with level 1
// it is 219 KB in 11 ms, with level 9 196 KB in 88 ms. It runs beside the appends, and what is kept is kept
// for weeks.
constexpr int kCompressionLevel = 6;

enum Codec : uint8_t { kPlain, kZlib };

std::optional<std::string> packed(std::string_view raw) {
  std::string out(compressBound(raw.size()), '\0');
  uLongf size = out.size();
  const int code = compress2(reinterpret_cast<Bytef*>(out.data()), &size,
                             reinterpret_cast<const Bytef*>(raw.data()), raw.size(), kCompressionLevel);
  // Stored plainly where zlib gains nothing: short columns, random texts.
  if (code != Z_OK || size >= raw.size()) return std::nullopt;
  out.resize(size);
  return out;
}

std::optional<std::string> unpacked(std::string_view stored, uint32_t raw_size) {
  std::string out(raw_size, '\0');
  uLongf size = raw_size;
  const int code = uncompress(reinterpret_cast<Bytef*>(out.data()), &size,
                              reinterpret_cast<const Bytef*>(stored.data()), stored.size());
  if (code != Z_OK || size != raw_size) return std::nullopt;
  return out;
}

Error damaged(Text what, size_t offset) {
  return model_error({"a damaged segment: ", what}, "the bytes encode_segment wrote",
                     {"segment, byte ", offset},
                     "remove the file: the events in it are lost, the others are not");
}

// What stands in front of a column's bytes. Its checksum covers both.
struct ColumnHead {
  std::string_view name;
  uint8_t type = 0;
  uint8_t codec = 0;
  uint32_t rows = 0;
  uint32_t values = 0;  // of rows that have one
  uint32_t raw_size = 0;
  uint32_t stored_size = 0;
};

ColumnHead get_column_head(ByteReader& r) {
  ColumnHead h;
  h.name = r.bytes(r.get<uint8_t>());
  h.type = r.get<uint8_t>();
  h.codec = r.get<uint8_t>();
  h.rows = r.get<uint32_t>();
  h.values = r.get<uint32_t>();
  h.raw_size = r.get<uint32_t>();
  h.stored_size = r.get<uint32_t>();
  return h;
}

uint32_t column_crc(std::string_view head, std::string_view stored) {
  return base::crc32c(base::crc32c(0, head.data(), head.size()), stored.data(), stored.size());
}

void put_column(ByteWriter& out, const SegmentColumn& c) {
  const std::string raw = pack_column(c.cells);
  const std::optional<std::string> smaller = packed(raw);
  const std::string& stored = smaller ? *smaller : raw;
  const size_t at = out.size();
  out.put(static_cast<uint8_t>(c.name.size()));
  out.put_bytes(c.name);
  out.put(c.cells.type());
  out.put(smaller ? kZlib : kPlain);
  out.put_count(c.cells.size());
  out.put_count(c.cells.size() - c.cells.absent());
  out.put_count(raw.size());
  out.put_count(stored.size());
  out.put(column_crc(out.written().substr(at), stored));
  out.put_bytes(stored);
}

Status check_column(std::string_view head, std::string_view stored, uint32_t crc, size_t at) {
  return crc == column_crc(head, stored) ? Status() : damaged("column checksum", at);
}

// Takes what its values need from `room`.
Result<Column> get_column(const ColumnHead& h, std::string_view stored, uint64_t rows, size_t at,
                          int64_t& room) {
  const bool possible = h.type <= static_cast<uint8_t>(ColumnType::bytes) && h.codec <= kZlib &&
                        h.raw_size <= kMaxRaw && h.rows <= rows &&
                        (h.codec != kPlain || h.raw_size == h.stored_size);
  if (!possible) return damaged("impossible column", at);
  if (h.codec == kZlib && h.raw_size / kMaxRatio > h.stored_size + 1)
    return damaged("an impossible ratio", at);
  const auto raw = h.codec == kZlib ? unpacked(stored, h.raw_size) : std::nullopt;
  if (h.codec == kZlib && !raw) return damaged("column does not unpack", at);
  std::optional<Column> cells =
      unpack_column(raw ? std::string_view(*raw) : stored, static_cast<ColumnType>(h.type),
                    {.rows = h.rows, .values = h.values}, room);
  if (!cells) return damaged("column contents", at);
  return *std::move(cells);
}

// Leaves `r` at the first column.
Result<uint32_t> read_head(ByteReader& r, Segment& s) {
  if (r.left() < kHeadBytes || !r.expect(kSegmentMagic)) return damaged("no segment", 0);
  s.first_seq = r.get<uint64_t>();
  s.rows = r.get<uint64_t>();
  s.min_ts = r.get<int64_t>();
  s.max_ts = r.get<int64_t>();
  const auto columns = r.get<uint32_t>();
  if (!r.checksum()) return damaged("head checksum", kHeadBytes - 4);
  // Numbers start at 1: 0 means "none" throughout the stream rooms.
  if (s.rows > kMaxRows || s.first_seq == 0 || columns > kMaxColumns)
    return damaged("impossible counts", kSegmentMagic.size());
  return columns;
}
}  // namespace

std::string encode_segment(const Segment& s) {
  ByteWriter out;
  out.put_bytes(kSegmentMagic);
  out.put(s.first_seq);
  out.put(s.rows);
  out.put(s.min_ts);
  out.put(s.max_ts);
  out.put_count(s.columns.size());
  out.put_checksum();
  for (const SegmentColumn& c : s.columns) put_column(out, c);
  return out.take();
}

Result<SegmentReader> SegmentReader::open(std::string_view bytes) {
  SegmentReader out;
  ByteReader r(bytes);
  WALLE_ASSIGN(const uint32_t columns, read_head(r, out.segment_));
  out.room_ = kMaxDecoded;
  for (uint32_t i = 0; i < columns; ++i) {
    const size_t at = r.offset();
    const ColumnHead h = get_column_head(r);
    Packed c{.name = h.name, .head = bytes.substr(at, r.offset() - at), .stored = {}, .at = at, .read = {}};
    c.crc = r.get<uint32_t>();
    c.stored = r.bytes(h.stored_size);
    if (!r.ok()) return damaged("a cut column", at);
    out.columns_.push_back(std::move(c));
  }
  if (!r.done()) return damaged("bytes behind the last column", r.offset());
  return out;
}

Status SegmentReader::check() const {
  for (const Packed& c : columns_) WALLE_TRY(check_column(c.head, c.stored, c.crc, c.at));
  return {};
}

Status SegmentReader::unpack(Packed& c) {
  if (c.read) return {};
  WALLE_TRY(check_column(c.head, c.stored, c.crc, c.at));
  ByteReader head(c.head);
  WALLE_ASSIGN(c.read, get_column(get_column_head(head), c.stored, segment_.rows, c.at, room_));
  return {};
}

Result<const Column*> SegmentReader::find(std::string_view name) {
  // Linear: a segment has tens of columns and each is looked up once per reader.
  for (Packed& c : columns_) {
    if (c.name != name) continue;
    WALLE_TRY(unpack(c));
    return &*c.read;
  }
  return nullptr;
}

size_t SegmentReader::unpacked() const {
  return static_cast<size_t>(
      std::ranges::count_if(columns_, [](const Packed& c) { return c.read.has_value(); }));
}

Result<Segment> decode_segment(std::string_view bytes) {
  WALLE_ASSIGN(SegmentReader reader, SegmentReader::open(bytes));
  for (SegmentReader::Packed& c : reader.columns_) {
    WALLE_TRY(reader.unpack(c));
    reader.segment_.columns.push_back({.name = std::string(c.name), .cells = std::move(*c.read)});
  }
  return std::move(reader.segment_);
}

}  // namespace walle::store
