#include "container/task/param_spec.h"

#include <algorithm>
#include <cmath>

#include "base/names.h"
#include "base/nearest_name.h"

namespace walle::container {

namespace {

constexpr const char* kWhere = "parameters of a task";

// Of two of one type, numbers or texts.
bool less(const vm::Value& a, const vm::Value& b) {
  if (const auto* real = a.get<double>()) return *real < *b.get<double>();
  return *a.get<int64_t>() < *b.get<int64_t>();
}

bool same(const vm::Value& a, const vm::Value& b) {
  if (const auto* text = a.get<std::string>()) return *text == *b.get<std::string>();
  return !less(a, b) && !less(b, a);
}

std::string shown(const vm::Value& value) {
  if (const auto* yes = value.get<bool>()) return *yes ? "true" : "false";
  if (const auto* number = value.get<int64_t>()) return std::to_string(*number);
  if (const auto* real = value.get<double>()) return std::to_string(*real);
  if (const auto* text = value.get<std::string>()) return base::shown_name(*text);
  return "a value of another type";
}

std::string expected(const ParamSpec& spec) {
  std::string out(call_type_name(spec.type));
  if (!spec.least.is_none()) out += ", at least " + shown(spec.least);
  if (!spec.most.is_none()) out += ", at most " + shown(spec.most);
  for (size_t i = 0; i < spec.one_of.size(); ++i)
    out += (i == 0 ? ", one of " : ", ") + shown(spec.one_of[i]);
  if (spec.type == CallType::text) out += ", of at most " + std::to_string(kMaxParamText) + " bytes";
  return out;
}

bool within(const ParamSpec& spec, const vm::Value& value) {
  if (const auto* real = value.get<double>(); real && !std::isfinite(*real)) return false;
  if (const auto* text = value.get<std::string>(); text && text->size() > kMaxParamText) return false;
  if (!spec.least.is_none() && less(value, spec.least)) return false;
  if (!spec.most.is_none() && less(spec.most, value)) return false;
  return spec.one_of.empty() ||
         std::ranges::any_of(spec.one_of, [&](const vm::Value& one) { return same(one, value); });
}

}  // namespace

Result<vm::Value> param_value(const ParamSpec& spec, vm::Value value) {
  if (const auto* number = value.get<int64_t>(); number && spec.type == CallType::real)
    value = vm::Value(static_cast<double>(*number));
  if (is_of(value, spec.type) && within(spec, value)) return value;
  return argument_error({"'", spec.name, "' = ", shown(value)}, expected(spec), kWhere,
                        "set it within what [params] of task.toml says, or declare it otherwise");
}

Status ParamsOf::check_name(const std::string& name) const {
  if (std::ranges::find(specs, name, &ParamSpec::name) != specs.end()) return {};
  std::vector<std::string> names;
  for (const ParamSpec& each : specs) names.push_back(each.name);
  return argument_error({"parameter '", name, "'"}, {"one that task '", task, "' declares"}, where,
                        base::did_you_mean(name, names, "add it to [params]"))
      .of_kind(base::ErrorKind::no_such_key);
}

Result<vm::Value> ParamsOf::value(const std::string& name, vm::Value given) const {
  WALLE_TRY(check_name(name));
  return param_value(*std::ranges::find(specs, name, &ParamSpec::name), std::move(given));
}

Status check_param(const ParamSpec& spec) {
  const bool plain = spec.type == CallType::boolean || spec.type == CallType::integer ||
                     spec.type == CallType::real || spec.type == CallType::text;
  const bool number = spec.type == CallType::integer || spec.type == CallType::real;
  // Exactly: they are compared with values of the type.
  const auto is = [&](const vm::Value& v) {
    return is_of(v, spec.type) && (spec.type != CallType::real || v.get<double>() != nullptr);
  };
  const auto fits = [&](const vm::Value& v) { return v.is_none() || (number && is(v)); };
  const auto chosen = [&](const vm::Value& v) { return spec.type != CallType::boolean && is(v); };
  if (!plain || !fits(spec.least) || !fits(spec.most) || spec.one_of.size() > kMaxParamChoices ||
      !std::ranges::all_of(spec.one_of, chosen))
    return task_error({"parameter '", spec.name, "'"},
                      "bool, int, float or text, with bounds of a number and choices of its type", kWhere,
                      "compile the task again from its folder");
  return param_value(spec, spec.standard).status();
}

Params params_of(const std::vector<ParamSpec>& specs, vm::Map& set, std::vector<std::string>& unfit) {
  auto out = std::make_shared<vm::Map>();
  vm::Map kept;
  for (const ParamSpec& spec : specs) {
    out->emplace_back(spec.name, spec.standard);
    const auto given = std::ranges::find(set, spec.name, &vm::Map::value_type::first);
    if (given == set.end()) continue;
    Result<vm::Value> value = param_value(spec, given->second);
    if (!value.ok()) continue;
    out->back().second = *value;
    kept.emplace_back(spec.name, *std::move(value));
  }
  for (const auto& [name, _] : set)
    if (std::ranges::find(kept, name, &vm::Map::value_type::first) == kept.end()) unfit.push_back(name);
  set = std::move(kept);
  return out;
}

}  // namespace walle::container
