// LoopSpec: the second movement atom. One small copy (or combine) repeated, where an index tensor says which
// slice of the source or destination each round touches: gather, scatter, embedding look-ups.
//
// A region cannot say this: its addresses are affine in the index vector, and here a term comes from data.
// Everything else about a round is affine, so the shape of a loop is known while planning and only the
// indices are looked at while it runs. Indices that are constants need no loop; ops/transform/gather.cc makes
// regions of a few of them, which then merge like any other.
#pragma once

#include "raster/region.h"

namespace walle::raster {

// assign: of two rounds that meet in one element, the later one stays.
enum class Combine : uint8_t { assign, add, mul, min, max };

// One component of an index tuple. Valid values are [-bound, bound); negatives count from the end.
struct LoopIndex {
  Dim stride = 0;  // elements per index unit
  Dim bound = 0;
  bool operator==(const LoopIndex&) const = default;
};

struct LoopSpec {
  // The rounds: a box walked in row-major order, so that batch axes need no index arithmetic.
  int rank = 0;
  Axes size{};
  Axes src_step{};  // added to the source offset per step of each axis
  Axes dst_step{};
  Region body;                   // of round 0; source 0 = data
  std::vector<LoopIndex> index;  // round i reads index.size() consecutive entries at i * index.size()
  bool index_on_dst = false;     // scatter: the index moves the destination instead of the source
  Combine combine = Combine::assign;
  bool base = false;  // operand 2 (scatter's data) is copied to the destination before the rounds

  Dim count() const;
  std::string text() const;
  bool operator==(const LoopSpec&) const = default;
};

// Every address that valid indices can reach lies inside the buffers, and there are as many indices as rounds
// read. What is left for run time is whether each index is valid.
Status check(const LoopSpec& spec, Dim src_elements, Dim index_elements, Dim dst_elements);

}  // namespace walle::raster
