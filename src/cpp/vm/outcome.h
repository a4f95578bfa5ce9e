// What a call leaves behind: a value, or why there is none. Errors of a task are data, never exceptions of
// the host.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vm/limits.h"
#include "vm/value.h"

namespace walle::vm {

struct Frame {
  std::string file;
  std::string function;
  int line = 0;  // 0: unknown (library code carries no line tables)
};

struct Failure {
  std::string type;  // "ZeroDivisionError", "LimitExceeded", "Cancelled"
  std::string message;
  Reason reason = Reason::none;
  std::vector<Frame> traceback;  // outermost first

  // As Python prints it.
  std::string text() const;
};

struct Outcome {
  Value value;
  std::optional<Failure> failure;

  bool ok() const { return !failure.has_value(); }
};

}  // namespace walle::vm
