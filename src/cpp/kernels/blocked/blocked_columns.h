// Which taps of a window the outputs of a blocked convolution meet, column by column, and where those lie.
//
// Stateless: every function may be called from any thread.
#pragma once

#include <vector>

#include "kernels/conv/conv.h"

namespace walle::kernels {

// A range of steps, rows, pixels or whatever else is counted.
struct Steps {
  int64_t first = 0, last = 0;

  int64_t count() const { return last - first; }
  bool operator==(const Steps&) const = default;
};

// The rows of the window that an output of row `row` meets.
Steps window_rows(const ConvShape& shape, int64_t row);

// Outputs of a row that meet the same columns of the window.
struct BlockedColumns {
  int64_t first = 0, count = 0;
  int64_t width = 0;           // taps of one row of the window
  std::vector<int64_t> tap;    // [window row][width]: offset from where the window starts
  std::vector<int64_t> which;  // number of the tap
};

// Of an image in blocks: a tap stands for all input channels.
std::vector<BlockedColumns> columns_of_blocks(const ConvShape& shape);
// Of row-major images: each channel has taps of its own, numbered within those of the same place.
std::vector<BlockedColumns> columns_of_rows(const ConvShape& shape);

}  // namespace walle::kernels
