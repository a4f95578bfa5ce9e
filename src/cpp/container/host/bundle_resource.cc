#include "container/host/bundle_resource.h"

namespace walle::container {

Result<const vm::Resource*> resource_of(const vm::TaskContext& context, std::string_view name) {
  std::string names;
  for (const auto& bundle : context.bundles) {
    if (const vm::Resource* found = bundle->find(name)) return found;
    for (const vm::Resource& resource : bundle->resources())
      names += (names.empty() ? "" : ", ") + resource.name;
  }
  return argument_error({"resource '", name, "'"},
                        names.empty() ? Text("a bundle with resources") : Text{"one of: ", names}, "",
                        "put the file into the task's folder and compile it again")
      .of_kind(base::ErrorKind::no_such_key);
}

}  // namespace walle::container
