// Plans to decide by.
#pragma once

#include "link/policy/decide.h"

namespace walle::link {

inline PlanRelease release_of_task(const std::string& task, const std::string& id,
                                   const std::string& version = "1.0.0") {
  return {.id = id,
          .scenario = "shop",
          .task = task,
          .version = version,
          .path = "shop/" + task + "/" + task + "-" + version + ".walp",
          .sha256 = std::string(31, 'x') + version.front(),
          .size = 1000};
}

inline PlanSegment only(HeaderField field, std::vector<PlanSpan> spans) {
  return {.conditions = {{.field = static_cast<uint8_t>(field), .spans = std::move(spans)}}};
}

inline Plan plan_of(std::vector<PlanRelease> releases, std::vector<PlanKill> kills = {}) {
  const auto bytes = write_plan({.epoch = 7, .releases = std::move(releases), .kills = std::move(kills)});
  return std::move(*Plan::read(*bytes));
}

}  // namespace walle::link
