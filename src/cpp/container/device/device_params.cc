// What walle.params of a task gives: what was set of it, over versions and restarts.
#include <algorithm>

#include "base/log.h"
#include "base/nearest_name.h"
#include "container/device/device_core.h"

namespace walle::container {

// What another version does not declare, or otherwise, is let go of, in `set` too.
Params DeviceCore::params_that_fit(const TaskVersion& version, vm::Map& set) const {
  const Manifest& manifest = version.manifest;
  std::vector<std::string> unfit;
  Params out = params_of(manifest.params, set, unfit);
  for (const std::string& name : unfit)
    base::log(base::LogLevel::warning, "task '" + manifest.name + "' " + manifest.version +
                                           ": what was set of parameter '" + name +
                                           "' is none of its values any more, and forgotten");
  return out;
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
  const std::vector<ParamSpec>& specs = version->manifest.params;
  InstalledTask entry = known->second;
  for (const auto& one : given) {
    const std::string& name = one.first;
    const vm::Value& value = one.second;
    const auto spec = std::ranges::find(specs, name, &ParamSpec::name);
    if (spec == specs.end()) {
      std::vector<std::string> names;
      for (const ParamSpec& each : specs) names.push_back(each.name);
      return argument_error({"parameter '", name, "'"}, {"one that task '", task, "' declares"},
                            "Device.set_params", base::did_you_mean(name, names, "add it to [params]"))
          .of_kind(base::ErrorKind::no_such_key);
    }
    std::erase_if(entry.params, [&](const auto& set) { return set.first == name; });
    if (value.is_none()) continue;
    WALLE_ASSIGN(vm::Value fitting, param_value(*spec, value));
    entry.params.emplace_back(name, std::move(fitting));
  }
  Params now = params_that_fit(*version, entry.params);
  WALLE_TRY(registry_->put(task, std::move(entry)));
  runner->set_params(std::move(now));
  return {};
}

}  // namespace walle::container
