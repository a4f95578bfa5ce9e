// PlanData: what a plan says, as values, and how much of it there may be.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "link/policy/ramp.h"

namespace walle::link {

inline constexpr uint32_t kPlanVersion = 1;
inline constexpr size_t kMostPlanBytes = 4'000'000;
inline constexpr size_t kMostReleases = 2048;
inline constexpr size_t kMostSegments = 4096;  // of all releases together
inline constexpr size_t kMostKills = 2048;
inline constexpr size_t kMostConditions = 24;  // of one segment: each field once, and buckets

struct PlanSpan {
  uint32_t low = 0;
  uint32_t high = 0;
};
struct PlanCondition {
  uint8_t field = 0;  // HeaderField, or kBucketField
  uint64_t salt = 0;
  std::vector<PlanSpan> spans;
};
inline constexpr uint8_t kBucketField = 255;
inline constexpr size_t kMostReleaseParamBytes = 98'304;  // 64 texts of 1 KiB, their names, and some
struct PlanSegment {
  std::vector<PlanCondition> conditions;
};

struct PlanRelease {
  std::string id;
  std::string scenario;
  std::string task;
  std::string version;
  std::string path;
  std::string sha256;  // 32 bytes
  uint64_t size = 0;
  std::vector<PlanSegment> segments;
  std::optional<PlanRamp> ramp;  // while it is gray
  // Of the task's walle.params, as the host reads them; empty: none. To the policy they are bytes: a release
  // of the same package with other ones is other content.
  std::string params;
};

struct PlanKill {
  std::string scenario;
  std::string task;
};

// What a plan says.
struct PlanData {
  uint64_t epoch = 0;
  std::vector<PlanRelease> releases;
  std::vector<PlanKill> kills;
};

}  // namespace walle::link
