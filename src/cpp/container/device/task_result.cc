#include "container/device/task_result.h"

namespace walle::container {

std::string_view phase_name(Phase phase) {
  switch (phase) {
    case Phase::start: return "start";
    case Phase::main: return "main";
    case Phase::preprocess: return "preprocess";
    case Phase::execute: return "execute";
    case Phase::postprocess: return "postprocess";
    case Phase::results: return "results";
    case Phase::call: return "call";
  }
  return "start";
}

std::string TaskError::text() const {
  std::string out = "task '" + task + "' " + version + ", " + std::string(phase_name(phase));
  if (phase != Phase::call) out += " of firing " + std::to_string(number);
  out += ": " + type;
  if (!message.empty()) out += ": " + message;
  if (limit != vm::Reason::none) {
    out += " (limit: " + std::string(vm::reason_name(limit));
    if (!allowed.empty()) out += ", " + allowed;
    out += ")";
  }
  if (!file.empty()) out += ", at " + file + ":" + std::to_string(line) + " in " + function;
  if (!source.empty()) out += ": " + source;
  return out;
}

}  // namespace walle::container
