#include "store/segment.h"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <unordered_map>

#include "base/bytes.h"
#include "base/crc32c.h"

namespace walle::store {

namespace {
using base::ByteReader;
using base::ByteWriter;

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

// Small numbers of either sign become small unsigned ones, and so short varints.
uint64_t zigzag(int64_t v) { return static_cast<uint64_t>(v) << 1 ^ static_cast<uint64_t>(v >> 63); }
int64_t unzigzag(uint64_t v) { return static_cast<int64_t>(v >> 1) ^ -static_cast<int64_t>(v & 1); }

// Words of a dictionary: a float is its bits, so that every NaN and both zeros come back as they were.
uint64_t word_of(double value) { return std::bit_cast<uint64_t>(value); }
std::string_view word_of(const std::string& value) { return value; }

void put_word(ByteWriter& out, uint64_t word) { out.put(word); }
void put_word(ByteWriter& out, std::string_view word) {
  out.put_varint(word.size());
  out.put_bytes(word);
}
void get_word(ByteReader& r, uint64_t& word) { word = r.get<uint64_t>(); }
void get_word(ByteReader& r, std::string_view& word) { word = r.bytes(r.varint()); }

// The words in order of first use, then one index per value.
template <class T>
std::string dictionary(const std::vector<T>& values) {
  std::unordered_map<decltype(word_of(values[0])), uint64_t> known;
  ByteWriter words, indices;
  for (const T& v : values) {
    const auto [it, fresh] = known.emplace(word_of(v), known.size());
    if (fresh) put_word(words, it->first);
    indices.put_varint(it->second);
  }
  ByteWriter out;
  out.put_varint(known.size());
  out.put_bytes(words.written());
  out.put_bytes(indices.written());
  return out.take();
}

// Differences wrap around: the numbers may be any.
std::string differences(const std::vector<int64_t>& values) {
  ByteWriter out;
  uint64_t previous = 0;
  for (const int64_t v : values) {
    out.put_varint(zigzag(static_cast<int64_t>(static_cast<uint64_t>(v) - previous)));
    previous = static_cast<uint64_t>(v);
  }
  return out.take();
}

std::string raw_column(const SegmentColumn& c) {
  if (c.type == ColumnType::ints) return differences(c.ints);
  return c.type == ColumnType::floats ? dictionary(c.floats) : dictionary(c.texts);
}

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

void get_differences(ByteReader& r, uint32_t values, std::vector<int64_t>& out) {
  out.reserve(values);
  uint64_t previous = 0;
  for (uint32_t i = 0; i < values; ++i) {
    previous += static_cast<uint64_t>(unzigzag(r.varint()));
    out.push_back(static_cast<int64_t>(previous));
  }
}

// `add` says whether there is room for one more value. A writer knows no word that no value names, so a
// dictionary of more words than values is not one of its own.
template <class Word, class Add>
bool get_dictionary(ByteReader& r, uint32_t values, Add&& add) {
  const uint64_t known = r.varint_count(1);
  if (known > values) return false;
  std::vector<Word> words(known);
  for (Word& word : words) get_word(r, word);
  for (uint32_t i = 0; i < values && r.ok(); ++i) {
    const uint64_t index = r.varint();
    if (index >= words.size() || !add(words[index])) return false;
  }
  return true;
}

// Takes what the values need in memory from `room`.
bool read_column(std::string_view raw, uint32_t values, SegmentColumn& c, int64_t& room) {
  if (values > raw.size()) return false;  // a value takes at least one byte
  const size_t each = c.type == ColumnType::texts ? sizeof(std::string) : sizeof(int64_t);
  room -= int64_t{values} * static_cast<int64_t>(each);
  if (room < 0) return false;
  ByteReader r(raw);
  bool fits = true;
  if (c.type == ColumnType::ints) {
    get_differences(r, values, c.ints);
  } else if (c.type == ColumnType::floats) {
    c.floats.reserve(values);
    fits = get_dictionary<uint64_t>(r, values, [&](uint64_t bits) {
      c.floats.push_back(std::bit_cast<double>(bits));
      return true;
    });
  } else {
    c.texts.reserve(values);
    fits = get_dictionary<std::string_view>(r, values, [&](std::string_view text) {
      room -= static_cast<int64_t>(text.size());
      if (room >= 0) c.texts.emplace_back(text);
      return room >= 0;
    });
  }
  return fits && r.done();
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
  uint32_t values = 0;
  uint32_t raw_size = 0;
  uint32_t stored_size = 0;
};

ColumnHead get_column_head(ByteReader& r) {
  ColumnHead h;
  h.name = r.bytes(r.get<uint8_t>());
  h.type = r.get<uint8_t>();
  h.codec = r.get<uint8_t>();
  h.values = r.get<uint32_t>();
  h.raw_size = r.get<uint32_t>();
  h.stored_size = r.get<uint32_t>();
  return h;
}

uint32_t column_crc(std::string_view head, std::string_view stored) {
  return base::crc32c(base::crc32c(0, head.data(), head.size()), stored.data(), stored.size());
}

void put_column(ByteWriter& out, const SegmentColumn& c) {
  const std::string raw = raw_column(c);
  const std::optional<std::string> smaller = packed(raw);
  const std::string& stored = smaller ? *smaller : raw;
  const size_t at = out.size();
  out.put(static_cast<uint8_t>(c.name.size()));
  out.put_bytes(c.name);
  out.put(c.type);
  out.put(smaller ? kZlib : kPlain);
  out.put_count(c.size());
  out.put_count(raw.size());
  out.put_count(stored.size());
  out.put(column_crc(out.written().substr(at), stored));
  out.put_bytes(stored);
}

Status check_column(std::string_view head, std::string_view stored, uint32_t crc, size_t at) {
  return crc == column_crc(head, stored) ? Status() : damaged("column checksum", at);
}

// Takes what its values need from `room`.
Result<SegmentColumn> get_column(const ColumnHead& h, std::string_view stored, uint64_t rows, size_t at,
                                 int64_t& room) {
  const bool possible = h.type <= static_cast<uint8_t>(ColumnType::texts) && h.codec <= kZlib &&
                        h.raw_size <= kMaxRaw && h.values <= rows &&
                        (h.codec != kPlain || h.raw_size == h.stored_size);
  if (!possible) return damaged("impossible column", at);
  if (h.codec == kZlib && h.raw_size / kMaxRatio > h.stored_size + 1)
    return damaged("an impossible ratio", at);
  const auto raw = h.codec == kZlib ? unpacked(stored, h.raw_size) : std::nullopt;
  if (h.codec == kZlib && !raw) return damaged("column does not unpack", at);
  SegmentColumn c;
  c.name = h.name;
  c.type = static_cast<ColumnType>(h.type);
  if (!read_column(raw ? std::string_view(*raw) : stored, h.values, c, room))
    return damaged("column contents", at);
  return c;
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

const SegmentColumn* Segment::find(std::string_view name) const {
  for (const SegmentColumn& c : columns)
    // Linear: a segment has tens of columns and each is looked up once per reader.
    if (c.name == name) return &c;
  return nullptr;
}

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
    Column c{.name = h.name, .head = bytes.substr(at, r.offset() - at), .stored = {}, .at = at, .read = {}};
    c.crc = r.get<uint32_t>();
    c.stored = r.bytes(h.stored_size);
    if (!r.ok()) return damaged("a cut column", at);
    out.columns_.push_back(std::move(c));
  }
  if (!r.done()) return damaged("bytes behind the last column", r.offset());
  return out;
}

Status SegmentReader::check() const {
  for (const Column& c : columns_) WALLE_TRY(check_column(c.head, c.stored, c.crc, c.at));
  return {};
}

Status SegmentReader::unpack(Column& c) {
  if (c.read) return {};
  WALLE_TRY(check_column(c.head, c.stored, c.crc, c.at));
  ByteReader head(c.head);
  WALLE_ASSIGN(c.read, get_column(get_column_head(head), c.stored, segment_.rows, c.at, room_));
  return {};
}

Result<const SegmentColumn*> SegmentReader::find(std::string_view name) {
  for (Column& c : columns_) {
    if (c.name != name) continue;
    WALLE_TRY(unpack(c));
    return &*c.read;
  }
  return nullptr;
}

size_t SegmentReader::unpacked() const {
  return static_cast<size_t>(
      std::ranges::count_if(columns_, [](const Column& c) { return c.read.has_value(); }));
}

Result<Segment> decode_segment(std::string_view bytes) {
  WALLE_ASSIGN(SegmentReader reader, SegmentReader::open(bytes));
  for (SegmentReader::Column& c : reader.columns_) {
    WALLE_TRY(reader.unpack(c));
    reader.segment_.columns.push_back(std::move(*c.read));
  }
  return std::move(reader.segment_);
}

}  // namespace walle::store
