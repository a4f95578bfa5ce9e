#include "container/host/feature_scope.h"

#include <algorithm>

#include "base/nearest_name.h"

namespace walle::container {

namespace {

// What it is not is refused by the rule, which knows the field's type.
stream::Value part_of(const vm::Value& value) {
  if (const auto* yes = value.get<bool>()) return stream::Value::of(*yes);
  if (const auto* whole = value.get<int64_t>()) return stream::Value::of(*whole);
  if (const auto* real = value.get<double>()) return stream::Value::of(*real);
  if (const auto* text = value.get<std::string>()) return stream::Value::of(std::string_view(*text));
  return {};
}

Result<std::string> key_of(const stream::RollingRule& rule, const vm::Value& key) {
  const auto* several = key.get<vm::List>();
  if (several == nullptr) {
    const stream::Value part = part_of(key);
    return rule.key_of(std::span(&part, 1));
  }
  std::vector<stream::Value> parts;
  for (const vm::Value& part : *several) parts.push_back(part_of(part));
  return rule.key_of(parts);
}

vm::Value answer_of(const stream::Value& v) {
  if (!v.present) return {};
  return v.type == ColumnType::integer ? vm::Value(v.i) : vm::Value(v.d);
}

}  // namespace

Result<vm::List> feature_values(const TaskFeatures& features, stream::EventLog& log, std::string_view name,
                                const vm::List& keys, stream::RollingMoment at, std::string_view where) {
  const auto named = std::ranges::find(features, name, &TaskFeature::name);
  if (named == features.end()) {
    std::vector<std::string> names;
    for (const TaskFeature& each : features) names.push_back(each.name);
    return argument_error({"feature '", name, "'"}, "one that the task declares", where,
                          base::did_you_mean(name, names, "add it to [features] of task.toml"))
        .of_kind(base::ErrorKind::no_such_key);
  }
  if (keys.size() > kMaxFeatureKeys)
    return argument_error({keys.size(), " keys"}, {"at most ", kMaxFeatureKeys}, where,
                          "ask for fewer at once");
  std::vector<std::string> asked;
  asked.reserve(keys.size());
  for (const vm::Value& key : keys) {
    WALLE_ASSIGN(std::string one, key_of(named->feature->rule(), key));
    asked.push_back(std::move(one));
  }
  WALLE_ASSIGN(const std::vector<stream::Value> values, named->feature->values(log, asked, at));
  vm::List out;
  out.reserve(values.size());
  for (const stream::Value& value : values) out.push_back(answer_of(value));
  return out;
}

}  // namespace walle::container
