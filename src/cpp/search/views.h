// Which values share the bytes of another, whatever memory they come to lie in.
//
// A raster that is one contiguous run of its source needs no step: its result is a view of the source's root.
// Results the caller keeps are never views, so that two outputs, or an output and an input, never share
// memory.
#pragma once

#include <vector>

#include "search/plan.h"

namespace walle::search {

struct View {
  ops::Ref root = ops::kNoRef;  // itself, where the value has bytes of its own
  Dim offset = 0;               // bytes into the root
};

struct Views {
  std::vector<View> of;       // per program value
  std::vector<Home> home;     // per root, in host memory: input, output, constant, or arena
  std::vector<bool> skipped;  // per program node: it became a view
  int aliases = 0;

  const View& at(ops::Ref r) const { return of[r]; }
  Home home_of(ops::Ref root) const { return home[root]; }
};

Views find_views(const ops::Program& program);

}  // namespace walle::search
