// ParamScope: what walle.params gives: put there by whoever runs the firing, before it begins.
#pragma once

#include <memory>

#include "vm/value.h"

namespace walle::container {

struct ParamScope {
  std::shared_ptr<const vm::Map> values;  // nullptr: none
};

}  // namespace walle::container
