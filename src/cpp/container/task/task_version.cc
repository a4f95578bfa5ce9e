#include "container/task/task_version.h"

#include <algorithm>

#include "base/nearest_name.h"
#include "vm/isolate.h"

namespace walle::container {

namespace {

Error unfit(const Manifest& manifest, Text given, Text expected, Text next) {
  return task_error(given, expected, {"task '", manifest.name, "' ", manifest.version}, next);
}

Result<Manifest> manifest_of(const vm::Bundle& bundle) {
  const vm::Resource* found = bundle.find(kManifestName);
  if (found == nullptr) {
    return task_error({"a task bundle without '", kManifestName, "'"}, "a bundle with a manifest",
                      "opening a task", "compile the task's folder with its task.toml: walle task compile");
  }
  return read_manifest(base::as_text(std::span(found->bytes.data(), found->bytes.size())));
}

Status check_module(const Manifest& manifest, const vm::Bundle& bundle) {
  const bool has_code = !manifest.main_function.empty() || !manifest.preprocess.empty() ||
                        !manifest.execute_function.empty() || !manifest.postprocess.empty();
  const std::vector<std::string> modules = bundle.modules();
  if (!has_code || std::ranges::find(modules, manifest.module) != modules.end()) return {};
  return unfit(manifest, {"module '", manifest.module, "'"}, "a module of the bundle",
               base::did_you_mean(manifest.module, modules, "name the file that has the task's functions"));
}

// `what` is what the manifest wants it for: "model".
Result<const vm::Resource*> resource_of(const Manifest& manifest, const vm::Bundle& bundle, const char* what,
                                        const std::string& name) {
  if (const vm::Resource* found = bundle.find(name)) return found;
  std::vector<std::string> names;
  for (const vm::Resource& resource : bundle.resources()) names.push_back(resource.name);
  return unfit(manifest, {what, " '", name, "', which is no file of the bundle"}, "a resource of the task",
               base::did_you_mean(name, names, "put the file into the task's folder and compile it again"));
}

vm::Limits limits_of(const Manifest& manifest) {
  vm::Limits limits;
  limits.heap_bytes = manifest.heap_bytes;
  limits.log_bytes = manifest.log_bytes;
  limits.state_bytes = manifest.state_bytes;
  limits.imports = manifest.imports;
  // The module of host calls, which have a list of their own.
  if (std::ranges::find(*limits.imports, "walle") == limits.imports->end())
    limits.imports->emplace_back("walle");
  limits.host_calls = manifest.host_calls;
  return limits;
}

}  // namespace

Result<std::shared_ptr<const TaskVersion>> TaskVersion::open(std::shared_ptr<const vm::Bundle> bundle,
                                                             std::string package) {
  auto version = std::make_shared<TaskVersion>();
  version->package = std::move(package);
  WALLE_ASSIGN(version->manifest, manifest_of(*bundle));
  const Manifest& manifest = version->manifest;
  WALLE_TRY(check_module(manifest, *bundle));
  if (!manifest.execute_model.empty()) {
    WALLE_ASSIGN(version->model, resource_of(manifest, *bundle, "model", manifest.execute_model));
  }
  for (const EgressFeature& feature : manifest.features) {
    if (!feature.graph.empty()) WALLE_TRY(resource_of(manifest, *bundle, "graph", feature.graph).status());
  }
  version->limits = limits_of(manifest);
  Status allowed = vm::Isolate::check(bundle->vm(), version->limits);
  if (!allowed.ok()) {
    allowed.error().within({"task '", manifest.name, "' ", manifest.version});
    return allowed.take_error();
  }
  version->bundle = std::move(bundle);
  return std::shared_ptr<const TaskVersion>(std::move(version));
}

std::string table_name(std::string_view task, std::string_view table) {
  return std::string(task) + "." + std::string(table);
}

}  // namespace walle::container
