// Outcome: what a call leaves behind: a value, or why there is none. Errors of a task are data, never
// exceptions of the host.
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
  int line = 0;        // 0: unknown (library code carries no line tables)
  std::string source;  // that line, stripped; empty where the bundle came without its sources
};

// How an exception belongs to the one that names it.
enum class Relation : uint8_t { cause, context, member };

struct Failure {
  std::string type;  // "ZeroDivisionError", "LimitExceeded", "Cancelled"
  std::string message;
  Reason reason = Reason::none;
  std::vector<Frame> traceback;  // outermost first
  std::vector<std::string> notes;
  std::vector<Failure> related;  // a cause or a context, then the members of a group; at most 32 in all
  Relation relation = Relation::cause;

  // As Python prints it, but for the frames drawn around members of groups.
  std::string text() const;
};

struct Outcome {
  Value value;
  std::optional<Failure> failure;

  bool ok() const { return !failure.has_value(); }
};

}  // namespace walle::vm
