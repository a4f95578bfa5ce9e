// AppScope: what walle.app of one task asks: set by whoever takes the isolate.
#pragma once

#include <string>

#include "vm/value.h"

namespace walle::container {

class AppScope {
 public:
  virtual ~AppScope() = default;
  virtual Result<vm::Value> ask(const std::string& name, vm::List arguments) = 0;
};

}  // namespace walle::container
