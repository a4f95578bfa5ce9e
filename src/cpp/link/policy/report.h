// Report: what a device tells of a release it tries. docs/reference/formats/report.md. Values, no state.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "link/policy/decide.h"

namespace walle::link {

enum class ReportStatus : uint8_t { claim, ok, phase_error, limit, install_error, rolled_back };
inline constexpr std::array<std::string_view, 6> kReportStatusNames = {
    "claim", "ok", "phase_error", "limit", "install_error", "rolled_back"};

struct Report {
  uint64_t device = 0;  // device_pseudonym()
  std::string release;  // PlanRelease::id of the trial
  std::string scenario;
  std::string task;
  std::string version;
  Cohort cohort = Cohort::treated;
  ReportStatus status = ReportStatus::ok;
  std::string phase;
  std::string error_type;
  std::string limit;
  uint32_t firings = 0;
  uint32_t failures = 0;
  uint64_t epoch = 0;
  uint64_t seq = 0;
};

inline constexpr size_t kMostReports = 256;  // of a batch
inline constexpr size_t kMostReportBytes = 256 * 1024;

// An argument error for a text that is no name: reports carry letters, digits and "._-/+:" alone, at most 128
// of them (paths and messages of a task's own could hold what must not leave the device).
Result<std::string> write_reports(const std::vector<Report>& reports);
Result<std::vector<Report>> read_reports(std::string_view bytes);

}  // namespace walle::link
