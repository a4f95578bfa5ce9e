// RollingFeatures: the features of all tasks. Equal declarations are one feature, whatever their names; it
// lives as long as somebody holds it.
//
// Synchronised by whoever appends to the log.
#pragma once

#include <memory>

#include "stream/rolling/rolling_feature.h"

namespace walle::stream {

class RollingFeatures {
 public:
  // An error names what of the declaration the catalogue lacks.
  Result<std::shared_ptr<RollingFeature>> open(const RollingSpec& spec, const Catalog& catalog);
  void feed(const Event& e, const Catalog& catalog) {
    if (e.event >= by_event_.size()) [[likely]]
      return;
    for (RollingFeature* feature : by_event_[e.event]) feature->feed(e, catalog);
  }
  // Lets go of those that nobody else holds, and gives the others.
  std::vector<std::shared_ptr<RollingFeature>> sweep();
  size_t memory_bytes() const;

 private:
  std::vector<std::shared_ptr<RollingFeature>> all_;
  std::vector<std::vector<RollingFeature*>> by_event_;  // as long as the last event that one names
};

}  // namespace walle::stream
