// Columns of one run of records as a checked, compressed block of bytes; the long-term form of the journal.
// The layout is docs/reference/formats/segment.md; a reader refuses any other byte.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace walle::store {

enum class ColumnType : uint8_t { ints, floats, texts };

// One of the three vectors is filled, by type. A variant would save 48 bytes a column and cost a visit at
// every access.
struct SegmentColumn {
  std::string name;
  ColumnType type = ColumnType::ints;
  std::vector<int64_t> ints;
  std::vector<double> floats;
  std::vector<std::string> texts;
  size_t size() const {
    return type == ColumnType::ints ? ints.size() : type == ColumnType::floats ? floats.size() : texts.size();
  }
};

struct Segment {
  uint64_t first_seq = 0, rows = 0;
  int64_t min_ts = 0, max_ts = 0;
  std::vector<SegmentColumn> columns;
  const SegmentColumn* find(std::string_view name) const;
};

std::string encode_segment(const Segment& segment);
Result<Segment> decode_segment(std::string_view bytes);

}  // namespace walle::store
