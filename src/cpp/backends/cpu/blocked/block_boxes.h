// A region between images of row-major addresses as a box between the same images blocked by channels.
#pragma once

#include <optional>
#include <vector>

#include "raster/region.h"
#include "tensor/shape.h"

namespace walle::backends::cpu {

struct BlockBox {
  std::vector<int64_t> size, src, dst;  // axes; strides in floats
  int64_t from = 0, to = 0;             // offsets in floats
};

// Channels of x and y ([n, c, h, w]) must lie in the same lanes on both sides: the region takes whole blocks
// of them, or the rest of both images' channels. Rows, columns, images and blocks may be in any order and at
// any distance: slices, interleaved phases, repeated pixels. nullopt for everything else, flips among it.
std::optional<BlockBox> block_box(const raster::Region& region, const Shape& x, const Shape& y);

}  // namespace walle::backends::cpu
