// What walle.params of a task gives: what was set of it, over versions and restarts.
#include <algorithm>

#include "base/log.h"
#include "container/device/device_core.h"
#include "container/host/value_codec.h"

namespace walle::container {

namespace {

std::optional<vm::Map> unpacked(std::string_view released) {
  if (released.empty()) return vm::Map();
  const std::optional<vm::Value> value = decode_value(released);
  const vm::Map* map = value ? value->get<vm::Map>() : nullptr;
  if (map == nullptr) return std::nullopt;
  return *map;
}

}  // namespace

// What another version does not declare, or otherwise, is let go of, in the entry too. What its release sets
// has been checked with it.
Params DeviceCore::params_that_fit(const TaskVersion& version, InstalledTask& entry) const {
  const Manifest& manifest = version.manifest;
  std::vector<std::string> unfit, known;
  (void)params_of(manifest.params, entry.params, unfit);
  for (const std::string& name : unfit)
    base::log(base::LogLevel::warning, "task '" + manifest.name + "' " + manifest.version +
                                           ": what was set of parameter '" + name +
                                           "' is none of its values any more, and forgotten");
  vm::Map set = entry.params;
  for (auto& [name, value] : unpacked(entry.released).value_or(vm::Map()))
    if (std::ranges::find(set, name, &vm::Map::value_type::first) == set.end()) set.emplace_back(name, value);
  return params_of(manifest.params, set, known);
}

Status DeviceCore::check_released(const TaskVersion& version, std::string_view released) const {
  const std::optional<vm::Map> given = unpacked(released);
  if (!given)
    return argument_error({released.size(), " bytes of parameters"}, "a dict as a plan has them",
                          {"the release of '", version.manifest.name, "'"}, "release it again");
  const ParamsOf params{version.manifest.name, version.manifest.params, "a release"};
  for (const auto& [name, value] : *given) WALLE_TRY(params.value(name, value).status());
  return {};
}

std::string DeviceCore::released_params(const std::string& task) const {
  const std::lock_guard lock(installing_);
  const auto known = registry_->tasks().find(task);
  return known == registry_->tasks().end() ? std::string() : known->second.released;
}

Status DeviceCore::set_params(const std::string& task, const vm::Map& given) {
  const std::lock_guard lock(installing_);
  WALLE_TRY(check_open());
  const auto known = registry_->tasks().find(task);
  if (known == registry_->tasks().end()) return unknown(task);
  const Runner runner = find(task);
  const std::shared_ptr<const TaskVersion> version = runner == nullptr ? nullptr : runner->newest();
  if (version == nullptr)
    return task_error({"task '", task, "', which does not open"}, "a task that does", "Device.set_params",
                      "install it again");
  const ParamsOf params{version->manifest.name, version->manifest.params, "Device.set_params"};
  InstalledTask entry = known->second;
  for (const auto& one : given) {
    const std::string& name = one.first;
    const vm::Value& value = one.second;
    WALLE_TRY(params.check_name(name));
    std::erase_if(entry.params, [&](const auto& set) { return set.first == name; });
    if (value.is_none()) continue;
    WALLE_ASSIGN(vm::Value kept, params.value(name, value));
    entry.params.emplace_back(name, std::move(kept));
  }
  Params now = params_that_fit(*version, entry);
  WALLE_TRY(registry_->put(task, std::move(entry)));
  runner->set_params(std::move(now));
  return {};
}

}  // namespace walle::container
