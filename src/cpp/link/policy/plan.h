// A plan as a device or a server holds it: read once, verified whole, then asked millions of times.
//
// Trust nothing: sizes, counts, texts, spans and shares of the bytes are checked before they are used, and a
// plan with anything wrong is refused as a whole (docs/reference/formats/plan.md has the limits). Immutable
// once read: any thread may ask a plan that is shared.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace walle::link {

inline constexpr uint64_t kWhole = uint64_t{1} << 32;  // the share that is every device
inline constexpr size_t kMostPlanBytes = 4'000'000;
inline constexpr size_t kMostReleases = 2048;
inline constexpr size_t kMostSegments = 4096;  // of all releases together
inline constexpr size_t kMostKills = 2048;
inline constexpr size_t kMostConditions = 24;  // of one segment: each field once, and buckets
inline constexpr size_t kMostPlanText = 128;   // of a name, a version or an id; of a path three of them

struct PlanRamp {
  uint64_t from = 0;
  uint64_t to = kWhole;
  int64_t start_s = 0;
  uint32_t seconds = 0;
  uint64_t control = 0;
  uint32_t report_seconds = 600;
};

// The share of devices a ramp has let in at `now_s`, of kWhole: none before its start, `from` at the start,
// from then on along a straight line to `to`, and never less later on.
uint64_t share_at(const PlanRamp& ramp, int64_t now_s);
// The share that is control: no more than is treated, so that both cohorts report as often, and none of those
// who will be let in last while they are.
uint64_t control_at(const PlanRamp& ramp, int64_t now_s);

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

class DecisionTable;

class Plan {
 public:
  // A model error says what is wrong with the bytes; a resource error that its policies together are too
  // many.
  static Result<Plan> read(std::string_view bytes);
  ~Plan();
  Plan(Plan&&) noexcept;
  Plan& operator=(Plan&&) noexcept;

  uint64_t epoch() const { return data_.epoch; }
  const std::vector<PlanRelease>& releases() const { return data_.releases; }
  const std::vector<PlanKill>& kills() const { return data_.kills; }
  bool killed(std::string_view scenario, std::string_view task) const;

 private:
  friend struct PlanAccess;  // of decide.cc
  Plan(PlanData data, std::unique_ptr<const DecisionTable> table);

  PlanData data_;
  std::unique_ptr<const DecisionTable> table_;
};

// The bytes of a plan, the same for the same data. Read back before they are returned: what Plan::read
// refuses is this function's error.
Result<std::string> write_plan(const PlanData& data);

}  // namespace walle::link
