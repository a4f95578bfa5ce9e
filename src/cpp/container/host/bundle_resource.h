// Resources: files that travel with a task, by name.
#pragma once

#include <string_view>

#include "base/status.h"
#include "vm/bundle.h"
#include "vm/context.h"

namespace walle::container {

// An error of the kind no_such_key names what there is.
Result<const vm::Resource*> resource_of(const vm::TaskContext& context, std::string_view name);

}  // namespace walle::container
