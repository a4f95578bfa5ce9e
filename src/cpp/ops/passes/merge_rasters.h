// The raster pass: fewer copies for the same result.
//   vertical    a raster that reads a raster reads that one's sources; what nobody reads any more is dropped
//   horizontal  equal rasters and loops are computed once; regions within a raster are joined
//   identity    a raster that changes neither order nor shape is replaced by its source
// A merge is refused where it would cost more than it saves: more than max_regions regions, or a value of
// several pieces that is a result of the program anyway or is read more than once element by element.
#pragma once

#include "ops/program.h"

namespace walle::ops {

struct MergeOptions {
  bool vertical = true;
  bool horizontal = true;
  bool identity = true;
  // Of a merged raster, beyond those its parts had. Each region is a copy loop of its own: some hundred
  // starts of a loop cost about as much as the pass over a small tensor that the merge saves.
  size_t max_regions = 128;
};

Status merge_rasters(Program& program, const MergeOptions& options = {});

// Rasters that move bytes: those that are not a view of their source. Loops count too.
int count_copies(const Program& program);

}  // namespace walle::ops
