// The destination view of a region as a number system for addresses.
//
// A region writes the addresses dst + sum of index * stride over its axes. With the strides made positive and
// sorted, heaviest first, each axis is a digit: its stride the digit's unit, its size the number of values
// the digit takes. A 4 x 6 box inside a tensor of 6 x 8 has the digits (unit 8, size 4) and (unit 1, size 6).
//
// Such a system is a mixed-radix one (Knuth, The Art of Computer Programming, section 4.1) when each unit is
// larger than everything the lighter digits can add up to. Then, and this is all that composition needs,
//   - two index vectors never give one address: the heaviest digit in which they differ decides, because the
//     lighter ones cannot make up for a whole unit;
//   - an address gives its digits back by division: digit = rest div unit, rest = rest mod unit. It is in the
//     region exactly when every digit lies in [0, size) and nothing is left over.
// Every box inside a row-major tensor, with any steps, is such a system. The condition is sufficient and not
// necessary: sizes (2, 3) with units (3, 2) write six different addresses and are refused, because the exact
// question (is this affine map one-to-one on a box?) is one of integer programming.
#pragma once

#include "raster/region.h"

namespace walle::raster {

struct Digit {
  Dim unit;  // > 0
  Dim size;  // values 0 .. size - 1
  Dim src;   // what one more of this digit adds to the region's source address
};

struct Digits {
  std::vector<Digit> list;  // heaviest first; the last unit is 1
  Dim src = 0;              // source address of digits 0
  Dim dst = 0;              // destination address of digits 0, the lowest of all

  Dim reach() const;  // from the lowest address to the highest
};

// nullopt when the view is not such a system; above all when it writes an element twice.
std::optional<Digits> digits_of(const Region& region);

}  // namespace walle::raster
