// TaskResult: what one firing of a task has come to: a value and stored rows, or which phase failed, where
// and why.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "container/task/param_spec.h"
#include "stream/processor/task_firing.h"
#include "vm/outcome.h"

namespace walle::container {

// Where in a firing something happened. `start` is before the first line of the task: its isolate, its state.
// `results` is behind the last one: what it returned is made rows, and the firing is committed.
// `call`: an app's question (Device::call).
enum class Phase : uint8_t { start, main, preprocess, execute, postprocess, results, call };
std::string_view phase_name(Phase phase);

struct TaskError {
  std::string task, version;
  uint64_t number = 0;  // of the firing
  Phase phase = Phase::start;
  vm::Reason limit = vm::Reason::none;  // the limit that was exceeded
  std::string allowed;                  // and what it was: "1000 ms"; empty without one
  std::string type, message;            // "ValueError", "no price"
  std::string file, function;           // the innermost line of the task's own code; empty: none was reached
  int line = 0;
  std::string source;     // that line
  std::string traceback;  // as Python prints it

  // One line with all of the above but the traceback.
  std::string text() const;
};

struct PhaseTimes {                                      // us; 0: the phase was not entered
  int64_t preprocess = 0, execute = 0, postprocess = 0;  // a task with one main(event) has execute
};

struct TaskResult {
  std::string task, version;
  stream::TaskFiring firing;
  std::optional<TaskError> error;
  vm::Value value;  // what main or postprocess returned
  uint32_t rows = 0, sends = 0;
  // Number of the redo journal's frame that holds rows, sends and that the firing is done.
  uint64_t commit = 0;
  PhaseTimes times;
  Params params;            // that it ran with
  int64_t retry_at_us = 0;  // of a failure: when it is tried again, since 1970; 0: it is not
  int64_t waited_us = 0;    // from the moment that the task had something to do to the first phase's begin
};

}  // namespace walle::container
