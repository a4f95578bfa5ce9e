// TaskVersion: one version of a task, ready to be run: its bundle, what the manifest in it says, and what
// follows from both. Immutable, shared by whoever runs it.
#pragma once

#include <memory>

#include "container/task/manifest.h"
#include "vm/bundle.h"
#include "vm/limits.h"

namespace walle::container {

struct TaskVersion {
  Manifest manifest;
  std::shared_ptr<const vm::Bundle> bundle;
  vm::Limits limits;  // of its isolates; time is given phase by phase
  // Digest of the package that it came in, in hexadecimal; empty: it came as a bundle.
  std::string package;
  // Of execute_model; nullptr without one.
  const vm::Resource* model = nullptr;

  // A task error where the bundle has no manifest, or one that does not fit it: a module or a model that is
  // not there, a host call that this device does not have.
  static Result<std::shared_ptr<const TaskVersion>> open(std::shared_ptr<const vm::Bundle> bundle,
                                                         std::string package = "");
};

// A task's table among those of a device: two tasks may have tables of one name.
std::string table_name(std::string_view task, std::string_view table);

}  // namespace walle::container
