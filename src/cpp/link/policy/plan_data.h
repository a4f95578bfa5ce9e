// PlanData: what a plan says, as values, and how much of it there may be.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "link/policy/ramp.h"

namespace walle::link {

inline constexpr uint32_t kPlanVersion = 1;
inline constexpr size_t kMostPlanBytes = 4'000'000;
inline constexpr size_t kMostReleases = 2048;
inline constexpr size_t kMostSegments = 4096;  // of all releases together
inline constexpr size_t kMostKills = 2048;
inline constexpr size_t kMostTakenBack = 2048;
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

// Why a version was taken back. A plan says one of the first three; the others a device knows by itself.
enum class TakenWhy : uint8_t { halted, guard, rolled_back, killed, refused };
inline constexpr std::array<std::string_view, 5> kTakenWhyNames = {"halted", "guard", "rolled_back", "killed",
                                                                   "refused"};

// A version that a device had, and has no more.
struct TakenBack {
  std::string release, scenario, task, version;
  TakenWhy why = TakenWhy::halted;

  friend bool operator==(const TakenBack&, const TakenBack&) = default;
};

// What a plan says.
struct PlanData {
  uint64_t epoch = 0;
  std::vector<PlanRelease> releases;
  std::vector<PlanKill> kills;
  std::vector<TakenBack> taken_back;  // for who asks why; nothing is decided by it
};

}  // namespace walle::link
