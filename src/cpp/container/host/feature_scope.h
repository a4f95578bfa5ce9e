// FeatureScope: walle.features of one task: features of its own, looked up as of the firing that runs.
//
// Asked by the isolate's own thread; begin() between two calls.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stream/rolling/rolling_feature.h"
#include "vm/value.h"

namespace walle::container {

struct TaskFeature {
  std::string name;
  std::shared_ptr<stream::RollingFeature> feature;
};
using TaskFeatures = std::vector<TaskFeature>;

inline constexpr size_t kMaxFeatureKeys = 65'536;  // of one lookup

// The values of feature `name` for each of `keys`, in their order: a key is a value, or a list of as many as
// `by` has fields. `where` is the call that errors name.
Result<vm::List> feature_values(const TaskFeatures& features, stream::EventLog& log, std::string_view name,
                                const vm::List& keys, stream::RollingMoment at, std::string_view where);

class FeatureScope {
 public:
  using Newest = std::function<stream::RollingMoment()>;

  // `log` outlives the scope.
  FeatureScope(stream::EventLog& log, TaskFeatures features, Newest newest)
      : log_(log), features_(std::move(features)), newest_(std::move(newest)) {}

  // Of a firing, what held behind its event; of a call, what holds when it asks.
  void begin(std::optional<stream::RollingMoment> at) { at_ = at; }
  Result<vm::List> get(std::string_view name, const vm::List& keys) const {
    return feature_values(features_, log_, name, keys, at_ ? *at_ : newest_(), "walle.features.get");
  }

 private:
  stream::EventLog& log_;
  TaskFeatures features_;
  Newest newest_;
  std::optional<stream::RollingMoment> at_;
};

}  // namespace walle::container
