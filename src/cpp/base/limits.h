// Every limit on what a model file or a caller may ask for, in one place. A number beyond one of these is an
// error with the limit named, before anything is allocated for it.
#pragma once

#include <cstdint>

namespace walle::base {

inline constexpr int kMaxRank = 8;  // tensors in graphs; regions canonicalise further down
inline constexpr int64_t kMaxTensorBytes = int64_t{1} << 34;  // 16 GiB: the largest single tensor
inline constexpr int64_t kMaxArenaBytes = int64_t{1} << 35;   // of all intermediate values of a run: 32 GiB
// Some hundred times the largest exported models (10,000 nodes), and little enough to hold in memory: a node
// takes a few hundred bytes.
inline constexpr int64_t kMaxNodes = 1 << 20;  // per model, all graphs together
inline constexpr int64_t kMaxValues = 1 << 22;
inline constexpr int kMaxGraphDepth = 64;      // nesting of If/Loop/Scan bodies
inline constexpr int kMaxNodeArity = 1 << 14;  // inputs or outputs of one node
inline constexpr int kMaxAttributes = 256;     // per node
// Exporters join module paths into names; 4 KiB hold a path of a hundred modules.
inline constexpr int64_t kMaxNameBytes = 1 << 12;
inline constexpr int64_t kMaxGraphBytes = int64_t{1} << 30;  // the FlatBuffers part of a .walle file
inline constexpr int64_t kMaxRegions = 1 << 16;              // per raster
// Steps of work for all tables that planning one model computes itself.
inline constexpr int64_t kMaxPlanTable = 1 << 26;
// Of all rasters of one plan, before they are merged: 110 MB.
inline constexpr int64_t kMaxPlanRegions = 1 << 19;
// Atomic operators of one plan; larger graphs are planned in parts.
inline constexpr int64_t kMaxPlanNodes = 1 << 16;
// What a session may be asked to keep of each graph.
inline constexpr int kMaxKeptPlans = 4096;
// Of merging rasters in one plan; past it they stay as they are.
inline constexpr int64_t kMaxMergeSteps = 1 << 20;
inline constexpr int64_t kMaxLoopTrips = int64_t{1} << 31;

inline constexpr int kMaxThreads = 1024;  // of one session, and believed of a machine

inline constexpr int64_t kSegmentAlignment = 64;  // weights in files, buffers in memory: one cache line

}  // namespace walle::base
