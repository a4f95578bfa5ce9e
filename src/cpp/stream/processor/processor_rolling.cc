// Features that are kept per key: fed with every event, and filled from the log.
#include <algorithm>

#include "stream/processor/processor_parts.h"

namespace walle::stream {

Result<std::shared_ptr<RollingFeature>> Processor::rolling(const RollingSpec& spec) {
  const std::lock_guard lock(parts_->matching);
  return parts_->rolling.open(spec, parts_->log->catalog());
}

RollingMoment Processor::newest(int64_t now) const {
  const std::lock_guard lock(parts_->matching);
  return {.seq = parts_->log->last_seq(), .ts = std::max(now, parts_->log->newest_ts())};
}

// While nobody waits: a task's first question would else read the log within the task's time. Whoever asks is
// told what keeps the log from being read.
void Processor::Parts::warm_rolling() {
  std::vector<std::shared_ptr<RollingFeature>> held;
  int64_t newest_ts = 0;
  {
    const std::lock_guard lock(matching);
    held = rolling.sweep();
    newest_ts = log->newest_ts();
  }
  if (newest_ts == INT64_MIN) return;
  for (const auto& one : held)
    if (!one->warmed()) (void)one->warm(*log, newest_ts).ok();
}

}  // namespace walle::stream
