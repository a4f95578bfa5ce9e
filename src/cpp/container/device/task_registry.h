// What is installed on a device: each task's bundle, a file of its own, and which one holds, in a state file
// of two copies (docs/reference/formats/installed-tasks.md).
//
// A bundle's file is named by its content and is there before anything names it; the one change of the state
// file decides. So a crash leaves the old version or the new one, and files that nobody names, which the next
// open removes. Not synchronised.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/env.h"
#include "store/state_file.h"
#include "vm/bundle.h"

namespace walle::container {

struct InstalledTask {
  std::string version;
  std::string file;       // within tasks/
  std::string set_aside;  // why it does not run until it is replaced; empty: it does
};

class TaskRegistry {
 public:
  static Result<std::unique_ptr<TaskRegistry>> open(Env& env, const std::string& dir);

  const std::map<std::string, InstalledTask>& tasks() const { return tasks_; }
  // Both copies of the list were damaged: it is empty, and bundles lie there that nobody names.
  bool lost() const { return state_->found() == store::StateFile::Found::lost; }

  // Writes the bundle's file; returns its name. Nothing is installed by that.
  Result<std::string> store(const std::string& task, const std::string& version, std::string_view bundle);
  // Durable when they return; after an error the former entry holds.
  Status put(const std::string& task, InstalledTask entry);
  Status erase(const std::string& task);
  // Removes files that no entry names. What cannot be removed stays for the next time.
  void sweep();

  Result<std::shared_ptr<const vm::Bundle>> load(const std::shared_ptr<const vm::Vm>& vm,
                                                 const std::string& file) const;

 private:
  TaskRegistry(Env& env, std::string dir, std::unique_ptr<store::StateFile> state)
      : env_(env), dir_(std::move(dir)), state_(std::move(state)) {}
  Env& env_;
  std::string dir_;
  std::unique_ptr<store::StateFile> state_;
  std::map<std::string, InstalledTask> tasks_;
};

}  // namespace walle::container
