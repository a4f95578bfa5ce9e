// What a session may be asked for. Every switch exists so that a test can compare with and without it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"

namespace walle::runtime {

struct SessionOptions {
  std::string backend = "cpu";
  int threads = 1;
  std::string precision = "float32";
  // How far a faster way to a result may stray from the sums an operator is defined by: "strict" takes none,
  // "normal" those with at most four times their rounding error, "fast" any.
  std::string accuracy = "normal";
  bool search = true;   // choose algorithms by cost; false: the first candidate
  bool merge = true;    // merge rasters
  bool fuse = true;     // fold epilogues into kernels
  bool layouts = true;  // let values lie as kernels want them
  bool claim = true;    // let backends run composites whole
  bool fold = true;     // compute constant parts once; false: only the small ones that decide shapes
  // Which of several backends runs a node: the cheapest, or for tests any that can, drawn by "random:SEED".
  std::string placement = "cost";
  // Of each operator, measure so many of the choices that are predicted to be fastest; kTuneAll: all of them,
  // of operators with a single one too. Decides by what was measured, and costs a second or so per plan.
  int tune = 0;
  // Folder of cached decisions; empty: the environment variable WALLE_PLAN_CACHE, else the user's own for
  // tuned sessions and none for others, whose search takes milliseconds (ResNet-50: 7.6). "off": none.
  std::string plan_cache;
  // Folder of packed weights; empty: the environment variable WALLE_WEIGHTS_CACHE, else none. "off": none.
  std::string weights_cache;
};

// An argument error where `tune` is out of [0, kTuneAll].
Status check_tune(int tune);

// Where a session keeps decisions; empty: nowhere.
std::string plan_folder(const SessionOptions& options);

// Where a session keeps packed weights; empty: nowhere.
std::string weights_folder(const SessionOptions& options);

// The seed of "random:SEED", nothing for "cost"; an argument error for anything else.
Result<std::optional<uint64_t>> placement_seed(const std::string& placement);

// What "strict", "normal" or "fast" allows of backends::Candidate::error; an argument error for anything
// else.
Result<double> error_limit(const std::string& accuracy);

}  // namespace walle::runtime
