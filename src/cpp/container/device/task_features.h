// Features kept per key that a version of a task declares.
#pragma once

#include "container/host/feature_scope.h"
#include "container/task/manifest.h"
#include "stream/processor/processor.h"

namespace walle::container {

// Kept up as long as somebody holds them; those of versions and tasks that declare the same are the same. An
// error names what the device's catalogue lacks.
inline Result<TaskFeatures> features_of(stream::Processor& processor, const Manifest& manifest) {
  TaskFeatures out;
  for (const stream::RollingSpec& spec : manifest.rolling) {
    WALLE_ASSIGN(auto feature, processor.rolling(spec));
    out.push_back({.name = spec.name, .feature = std::move(feature)});
  }
  return out;
}

}  // namespace walle::container
