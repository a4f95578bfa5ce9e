// What a session may be asked for. Every switch exists so that a test can compare with and without it.
#pragma once

#include <string>

namespace walle::runtime {

struct SessionOptions {
  std::string backend = "cpu";
  int threads = 1;
  std::string precision = "float32";
  bool search = true;  // choose algorithms by cost; false: the first candidate
  bool merge = true;   // merge rasters
  bool fuse = true;    // fold epilogues into kernels
  bool claim = true;   // let backends run composites whole
  bool fold = true;    // compute constant parts once; false: only the small ones that decide shapes
};

}  // namespace walle::runtime
