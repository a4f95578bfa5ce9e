#include "store/segment.h"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_map>

#include "base/crc32c.h"

namespace walle::store {

namespace {
constexpr std::string_view kMagic = "WSEG0001";
constexpr size_t kHeadBytes = 48;
constexpr uint64_t kMaxRows = 1 << 24;
constexpr uint32_t kMaxRaw = 1 << 28;  // a column before compression: limits what a damaged size can ask for
// All values of a segment in memory: a few bytes can name one long word very often. Writers stay below a
// fifth of it.
constexpr int64_t kMaxDecoded = 1 << 30;

template <class T>
void put(std::string& out, T v) {
  out.append(reinterpret_cast<const char*>(&v), sizeof v);
}

void put_varint(std::string& out, uint64_t v) {
  for (; v >= 0x80; v >>= 7) out.push_back(static_cast<char>(v | 0x80));
  out.push_back(static_cast<char>(v));
}

uint64_t zigzag(int64_t v) { return static_cast<uint64_t>(v) << 1 ^ static_cast<uint64_t>(v >> 63); }
int64_t unzigzag(uint64_t v) { return static_cast<int64_t>(v >> 1) ^ -static_cast<int64_t>(v & 1); }

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
  bool get(T& v) {
    if (bytes_.size() < sizeof v) return false;
    std::memcpy(&v, bytes_.data(), sizeof v);
    bytes_.remove_prefix(sizeof v);
    return true;
  }
  bool take(size_t n, std::string_view& out) {
    if (bytes_.size() < n) return false;
    out = bytes_.substr(0, n);
    bytes_.remove_prefix(n);
    return true;
  }
  bool varint(uint64_t& v) {
    v = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      uint8_t b;
      if (!get(b)) return false;
      v |= uint64_t{b & 0x7fu} << shift;
      if (!(b & 0x80)) return true;
    }
    return false;
  }
  size_t left() const { return bytes_.size(); }

 private:
  std::string_view bytes_;
};

// A dictionary in order of first use, then one index per value.
template <class T, class Put>
std::string dictionary(const std::vector<T>& values, Put&& put_value) {
  std::unordered_map<T, uint64_t> known;
  std::string words, indices;
  for (const T& v : values) {
    const auto [it, fresh] = known.emplace(v, known.size());
    if (fresh) put_value(words, v);
    put_varint(indices, it->second);
  }
  std::string out;
  put_varint(out, known.size());
  return out + words + indices;
}

std::string raw_column(const SegmentColumn& c) {
  std::string out;
  if (c.type == ColumnType::ints) {
    int64_t previous = 0;
    for (const int64_t v : c.ints) {
      put_varint(out,
                 zigzag(static_cast<int64_t>(static_cast<uint64_t>(v) - static_cast<uint64_t>(previous))));
      previous = v;
    }
  } else if (c.type == ColumnType::floats) {
    std::vector<uint64_t> bits(c.floats.size());
    std::transform(c.floats.begin(), c.floats.end(), bits.begin(),
                   [](double d) { return std::bit_cast<uint64_t>(d); });
    out = dictionary(bits, [](std::string& to, uint64_t v) { put(to, v); });
  } else {
    out =
        dictionary(c.texts, [](std::string& to, const std::string& v) { put_varint(to, v.size()), to += v; });
  }
  return out;
}

// Takes what the values need in memory from `room`.
bool read_column(std::string_view raw, uint32_t values, SegmentColumn& c, int64_t& room) {
  Reader r(raw);
  uint64_t v = 0;
  if (values > raw.size()) return false;  // a value takes at least one byte
  room -= int64_t{values} *
          static_cast<int64_t>(c.type == ColumnType::texts ? sizeof(std::string) : sizeof(int64_t));
  if (room < 0) return false;
  if (c.type == ColumnType::ints) {
    uint64_t previous = 0;
    for (uint32_t i = 0; i < values; ++i) {
      if (!r.varint(v)) return false;
      previous += static_cast<uint64_t>(unzigzag(v));
      c.ints.push_back(static_cast<int64_t>(previous));
    }
    return r.left() == 0;
  }
  uint64_t words = 0;
  if (!r.varint(words) || words > raw.size()) return false;
  std::vector<uint64_t> bits;
  std::vector<std::string_view> texts;
  for (uint64_t i = 0; i < words; ++i) {
    std::string_view text;
    if (c.type == ColumnType::floats ? !r.get(v) : !r.varint(v) || !r.take(v, text)) return false;
    if (c.type == ColumnType::floats)
      bits.push_back(v);
    else
      texts.push_back(text);
  }
  for (uint32_t i = 0; i < values; ++i) {
    if (!r.varint(v) || v >= words) return false;
    if (c.type == ColumnType::floats) {
      c.floats.push_back(std::bit_cast<double>(bits[v]));
      continue;
    }
    room -= static_cast<int64_t>(texts[v].size());
    if (room < 0) return false;
    c.texts.emplace_back(texts[v]);
  }
  return r.left() == 0;
}

Error damaged(std::string_view what, size_t offset) {
  return model_error("a damaged segment: " + std::string(what), "the bytes encode_segment wrote",
                     "segment, byte " + std::to_string(offset),
                     "remove the file: the events in it are lost, the others are not");
}
}  // namespace

const SegmentColumn* Segment::find(std::string_view name) const {
  for (const SegmentColumn& c : columns)
    if (c.name == name) return &c;
  return nullptr;
}

std::string encode_segment(const Segment& s) {
  std::string out(kMagic);
  put(out, s.first_seq), put(out, s.rows), put(out, s.min_ts), put(out, s.max_ts),
      put(out, static_cast<uint32_t>(s.columns.size()));
  put(out, base::crc32c(0, out.data(), out.size()));
  for (const SegmentColumn& c : s.columns) {
    const std::string raw = raw_column(c);
    std::string packed(compressBound(raw.size()), '\0');
    uLongf size = packed.size();
    const bool smaller = compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
                                   reinterpret_cast<const Bytef*>(raw.data()), raw.size(), 6) == Z_OK &&
                         size < raw.size();
    if (smaller) packed.resize(size);
    const std::string& stored = smaller ? packed : raw;
    std::string head;
    put(head, static_cast<uint8_t>(c.name.size())), head += c.name;
    put(head, c.type), put(head, static_cast<uint8_t>(smaller)), put(head, static_cast<uint32_t>(c.size()));
    put(head, static_cast<uint32_t>(raw.size())), put(head, static_cast<uint32_t>(stored.size()));
    const uint32_t crc =
        base::crc32c(base::crc32c(0, head.data(), head.size()), stored.data(), stored.size());
    out += head;
    put(out, crc);
    out += stored;
  }
  return out;
}

namespace {
Result<uint32_t> read_head(std::string_view bytes, Segment& s) {
  if (bytes.size() < kHeadBytes || bytes.substr(0, 8) != kMagic) return damaged("no segment", 0);
  Reader r(bytes.substr(8));
  uint32_t columns = 0, crc = 0;
  (void)(r.get(s.first_seq) && r.get(s.rows) && r.get(s.min_ts) && r.get(s.max_ts) && r.get(columns) &&
         r.get(crc));
  if (crc != base::crc32c(0, bytes.data(), kHeadBytes - 4)) return damaged("head checksum", 44);
  if (s.rows > kMaxRows || s.first_seq == 0 || columns > 65536) return damaged("impossible counts", 8);
  return columns;
}
}  // namespace

Result<Segment> decode_segment_head(std::string_view bytes) {
  Segment s;
  WALLE_TRY(read_head(bytes, s));
  return s;
}

Result<Segment> decode_segment(std::string_view bytes) {
  Segment s;
  WALLE_ASSIGN(const uint32_t columns, read_head(bytes, s));
  Reader r(bytes.substr(kHeadBytes));
  int64_t room = kMaxDecoded;
  for (uint32_t i = 0; i < columns; ++i) {
    const size_t at = bytes.size() - r.left();
    SegmentColumn c;
    uint8_t name_size = 0, type = 0, codec = 0;
    uint32_t values = 0, raw_size = 0, stored_size = 0, crc = 0;
    std::string_view name, stored;
    if (!(r.get(name_size) && r.take(name_size, name) && r.get(type) && r.get(codec) && r.get(values) &&
          r.get(raw_size) && r.get(stored_size)))
      return damaged("a cut column", at);
    const size_t head = bytes.size() - r.left() - at;
    if (!r.get(crc) || !r.take(stored_size, stored)) return damaged("a cut column", at);
    if (crc != base::crc32c(base::crc32c(0, bytes.data() + at, head), stored.data(), stored.size()))
      return damaged("column checksum", at);
    if (type > 2 || codec > 1 || raw_size > kMaxRaw || values > s.rows)
      return damaged("impossible column", at);
    std::string raw(stored);
    if (codec == 1) {
      if (raw_size / 1100 > stored_size + 1)
        return damaged("an impossible ratio", at);  // zlib gains at most 1032
      raw.assign(raw_size, '\0');
      uLongf size = raw_size;
      if (uncompress(reinterpret_cast<Bytef*>(raw.data()), &size,
                     reinterpret_cast<const Bytef*>(stored.data()), stored.size()) != Z_OK ||
          size != raw_size)
        return damaged("column does not unpack", at);
    }
    c.name = name, c.type = static_cast<ColumnType>(type);
    if (!read_column(raw, values, c, room)) return damaged("column contents", at);
    s.columns.push_back(std::move(c));
  }
  if (r.left()) return damaged("bytes behind the last column", bytes.size() - r.left());
  return s;
}

}  // namespace walle::store
