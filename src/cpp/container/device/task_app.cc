#include "container/device/task_app.h"

#include "base/names.h"
#include "base/nearest_name.h"

namespace walle::container {

Result<vm::Value> TaskApp::ask(const std::string& name, vm::List arguments) {
  const std::vector<CallSpec>& declared = version_->manifest.app;
  std::vector<std::string> names;
  for (const CallSpec& spec : declared) names.push_back(spec.function);
  const size_t at = static_cast<size_t>(std::ranges::find(names, name) - names.begin());
  if (at == names.size())
    return argument_error({"function ", base::shown_name(name)}, "one that the task declares in [app]",
                          "walle.app", base::did_you_mean(name, names, "add it to the task's task.toml"))
        .of_kind(base::ErrorKind::no_such_key);
  const CallSpec& spec = declared[at];
  const std::string where = "walle.app." + name;
  WALLE_TRY(check_arguments(spec, arguments, where));
  if (asked_[at] >= spec.per_firing)
    return resource_error({"call number ", uint64_t{spec.per_firing} + 1, " of one firing"},
                          {"at most ", spec.per_firing}, where,
                          "call it less often, or raise its per_firing");
  ++asked_[at];
  Result<vm::Value> answer = functions_->ask(spec, std::move(arguments), time_);
  if (answer.ok()) return answer;
  Error error = answer.take_error();
  error.within(where);
  return error;
}

}  // namespace walle::container
