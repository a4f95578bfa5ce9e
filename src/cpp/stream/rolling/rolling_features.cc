#include "stream/rolling/rolling_features.h"

#include <algorithm>

namespace walle::stream {

Result<std::shared_ptr<RollingFeature>> RollingFeatures::open(const RollingSpec& spec,
                                                              const Catalog& catalog) {
  const auto same = [&](const std::shared_ptr<RollingFeature>& one) {
    return one->rule().spec().declares_as(spec);
  };
  const auto known = std::find_if(all_.begin(), all_.end(), same);
  if (known != all_.end()) return *known;
  WALLE_ASSIGN(RollingRule rule, RollingRule::make(spec, catalog));
  auto made = std::make_shared<RollingFeature>(std::move(rule));
  const size_t event = made->rule().event();
  if (by_event_.size() <= event) by_event_.resize(event + 1);
  by_event_[event].push_back(made.get());
  all_.push_back(made);
  return made;
}

std::vector<std::shared_ptr<RollingFeature>> RollingFeatures::sweep() {
  std::erase_if(all_, [&](const std::shared_ptr<RollingFeature>& one) {
    if (one.use_count() > 1) return false;
    std::erase(by_event_[one->rule().event()], one.get());
    return true;
  });
  return all_;
}

size_t RollingFeatures::memory_bytes() const {
  size_t bytes = 0;
  for (const auto& one : all_) bytes += one->stats().bytes;
  return bytes;
}

}  // namespace walle::stream
