// Which values stand side by side in the rows of a raster, as a concatenation along the last axis leaves
// them.
#pragma once

#include <optional>
#include <vector>

#include "ops/program.h"

namespace walle::ops {

// Consecutive columns of every row, read from one value. Two are equal when they read the same elements: rows
// lists the axes of the row number from the slowest on, without axes of one element, adjacent ones merged.
struct ColumnBlock {
  struct Axis {
    Dim size = 0;
    Dim rows = 0;    // between two steps of it
    Dim stride = 0;  // in the source; 0: expanded, the same elements at every step
    bool operator==(const Axis&) const = default;
  };
  Ref source = kNoRef;
  Dim offset = 0;  // of row 0 in the source
  Dim stride = 0;  // from column to column
  Dim width = 0;
  std::vector<Axis> rows;
  bool operator==(const ColumnBlock&) const = default;

  bool expanded() const;
};

struct PlacedBlock {
  Dim column = 0;
  ColumnBlock block;
};

// The blocks that make up rows of `width` elements, in order; nothing when regions do not line up like that,
// overlap or leave gaps.
std::optional<std::vector<PlacedBlock>> column_blocks(const ProgramNode& raster, Dim rows, Dim width);

// All rows of a value, read as they lie; the rows of a block that does not read so are not these.
ColumnBlock whole_value(Ref value, Dim rows, Dim width);

// Blocks side by side as a raster of `rows` rows: `sources` numbers the inputs.
raster::Raster as_raster(const std::vector<ColumnBlock>& blocks, std::vector<Ref>& sources);

}  // namespace walle::ops
