// Cutting a box of indices until each digit of the addresses it reads is an affine function of the index.
//
// A piece is a box with three affine functions: the address it still has to explain (rest), the source found
// so far (src) and the destination (dst). The digits are taken heaviest first; for one digit of weight `unit`
//   1. carries   write every step as high * unit + low, 0 <= low < unit. While (rest mod unit) and all the
//                lows at their far ends stay below unit in sum, nothing carries into the digit, and
//                    digit(i) = rest div unit + sum of i * high,   rest(i) = rest mod unit + sum of i * low
//                hold at every index: both are affine. Where they do not, the piece is cut in two or three
//                along one axis, and the parts are looked at again.
//   2. settle    with the digit affine, keep the part of the box where it lies in [0, size), and move its
//                share from `rest` to `src`: src += digit * (what one of the digit adds to inner's source).
// After the last digit (unit 1) rest is 0 everywhere in what is left, so src(i) is the source of the element
// that stood at the address which the piece read at i. Every cut makes parts that partition the piece, and
// what is thrown away has a digit out of range, hence is no address of the inner region: the pieces left are
// disjoint and together are all that the inner region answers for.
//
// It ends: each cut part has fewer indices than the piece it came from, or the same ones with one axis folded
// so that it carries no more. It may end late, with as many pieces as indices, so the number of pieces and
// the number of steps are bounded; past a bound the caller keeps two copies instead of one.
//
// Rejected: general integer sets (Pugh's Omega test, 1991; the library isl, Verdoolaege 2010). They answer
// the same question for any affine constraints and need no cutting, but their answers are polyhedra with
// divisions in them, while a backend copies boxes: the boxes would have to be found all the same. Rejected as
// well: requiring that strides divide, as CuTe's layout composition does; slices and pads seldom comply.
#pragma once

#include "raster/canonical.h"
#include "raster/digits.h"

namespace walle::raster {

// One axis of a piece: its size and what one step along it adds to each of the three functions.
struct PieceAxis {
  Dim size, rest, src, dst;
};

struct Piece {
  std::vector<PieceAxis> axes;
  Dim rest = 0;  // at index 0, as the next two
  Dim src = 0;
  Dim dst = 0;

  // The sub-box [from, from + count) of axis a. An axis of one step is gone, its share being in the offsets.
  Piece cut(size_t a, Dim from, Dim count) const;
  // Axis a as `count` periods of `period` steps: i = outer * period + inner. Precondition: size == period *
  // count.
  Piece fold(size_t a, Dim period, Dim count) const;
};

class Cutter {
 public:
  // At most `limit` pieces at any time; each piece looked at takes one of `steps`, which several calls may
  // share.
  Cutter(size_t limit, int64_t& steps) : limit_(limit), steps_(steps) {}

  // Cuts every piece by this digit; false when a bound is reached. Precondition: no axis has a negative
  // `rest`.
  bool apply(const Digit& digit, std::vector<Piece>& pieces);

 private:
  bool carries(const Digit& digit, const Piece& p);
  bool settle(const Digit& digit, Piece p, std::vector<Piece>& done);

  size_t limit_;
  int64_t& steps_;
  std::vector<Piece> work_;  // pieces of which the digit at hand is not settled
};

}  // namespace walle::raster
