// LogQuota: what one call of a task may log. Without a quota a loop of print() made 600 MB of lines in a
// second.
//
// Used by the thread that runs the call.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/log.h"

namespace walle::vm {

class LogQuota {
 public:
  using Log = std::function<void(base::LogLevel, std::string_view)>;

  static constexpr uint64_t kDefaultBytes = uint64_t{1} << 20;
  // What a line costs whoever keeps it, beside its text: a time stamp, a level, the task's name.
  static constexpr uint64_t kBytesPerLine = 64;

  LogQuota() = default;
  explicit LogQuota(uint64_t bytes) : bytes_(bytes != 0 ? bytes : kDefaultBytes) {}

  // Lines beyond the quota are counted and dropped; the one that meets it is cut.
  void send(const Log& log, base::LogLevel level, std::string_view line);
  // Says how many lines were dropped; the next call has all of the quota again.
  void end_call(const Log& log) {
    if (dropped_ != 0) report(log);
    used_ = 0;
  }

 private:
  void report(const Log& log);

  uint64_t bytes_ = kDefaultBytes;
  uint64_t used_ = 0;
  uint64_t dropped_ = 0;
};

}  // namespace walle::vm
