// Segment: columns of one run of records as a checked, compressed block of bytes; the long-term form of the
// journal. The layout is docs/reference/formats/segment.md; a reader refuses any other byte.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tensor/table.h"

namespace walle::store {

// An integer, float, boolean, text or bytes column; it may have fewer rows than the segment.
struct SegmentColumn {
  std::string name;
  tensor::Column cells;
};

struct Segment {
  uint64_t first_seq = 0, rows = 0;
  int64_t min_ts = 0, max_ts = 0;
  std::vector<SegmentColumn> columns;
};

std::string encode_segment(const Segment& segment);
Result<Segment> decode_segment(std::string_view bytes);

// A segment of which a column is unpacked when it is first asked for: opening a log needs one of them, an
// event by its number those of its kind. Borrows the bytes. One thread.
class SegmentReader {
 public:
  // Looks at the head and the sizes of the columns; a segment that is cut is an error.
  static Result<SegmentReader> open(std::string_view bytes);
  // Compares all checksums: which leaves nothing undetected but a writer of its own kind.
  Status check() const;

  uint64_t first_seq() const { return segment_.first_seq; }
  uint64_t rows() const { return segment_.rows; }
  int64_t min_ts() const { return segment_.min_ts; }
  int64_t max_ts() const { return segment_.max_ts; }
  // nullptr when there is none; valid as long as the reader.
  Result<const tensor::Column*> find(std::string_view name);
  // Number of columns, and how many of them have been unpacked.
  size_t columns() const { return columns_.size(); }
  size_t unpacked() const;

 private:
  struct Packed {  // a column as it is stored
    std::string_view name, head, stored;
    size_t at = 0;  // in the bytes
    uint32_t crc = 0;
    std::optional<tensor::Column> read;
  };
  friend Result<Segment> decode_segment(std::string_view bytes);
  Status unpack(Packed& column);

  Segment segment_;  // without its columns
  std::vector<Packed> columns_;
  int64_t room_ = 0;  // bytes that values may yet take
};

}  // namespace walle::store
