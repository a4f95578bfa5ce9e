// TaskRegistry: what is installed on a device: each task's bundle, a file of its own, or the manifest of its
// package, whose parts lie apart, and which one holds, in a state file of two copies
// (docs/reference/formats/installed-tasks.md).
//
// A bundle's or manifest's file is named by its content and is there, with its parts, before anything names
// it; the one change of the state file decides. So a crash leaves the old version or the new one, and files
// that nobody names, which the next open removes. Not synchronised.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/env.h"
#include "container/device/package_parts.h"
#include "container/task/task_version.h"
#include "store/state_file.h"

namespace walle::container {

struct InstalledTask {
  std::string version;
  std::string file;       // within tasks/
  std::string set_aside;  // why it does not run until it is replaced; empty: it does
  vm::Map params;         // what the app has set of walle.params
  std::string released;   // what the release sets of them, packed; what the app has set goes before it
};

class TaskRegistry {
 public:
  static Result<std::unique_ptr<TaskRegistry>> open(Env& env, const std::string& dir);

  const std::map<std::string, InstalledTask>& tasks() const { return tasks_; }
  // Both copies of the list were damaged or removed: it was empty, and bundles lie there that nobody names.
  // Until acknowledged.
  bool lost() const { return state_->get(kLost).has_value(); }
  Status acknowledge_loss() { return state_->apply({{kLost, std::nullopt}}); }

  // Writes the bundle's file, or takes the package's parts over from `blobs` and writes its manifest; returns
  // the file's name. Nothing is installed by that, and nothing is verified but sizes.
  Result<std::string> store(const std::string& task, const std::string& version, std::string_view bundle);
  Result<std::string> store_package(const link::Package& package, std::string_view manifest,
                                    const std::string& blobs);
  // Durable when they return. After an error the former entry holds, but the next open may find either: what
  // both name stays until a change succeeds.
  Status put(const std::string& task, InstalledTask entry);
  Status erase(const std::string& task);
  // Removes files that no entry names. What cannot be removed stays for the next time.
  void sweep();

  // What store() or store_package() wrote, verified whole.
  Result<std::shared_ptr<const TaskVersion>> load(const std::shared_ptr<const vm::Vm>& vm,
                                                  const std::string& file) const;

 private:
  TaskRegistry(Env& env, std::string dir, std::unique_ptr<store::StateFile> state)
      : env_(env), dir_(std::move(dir)), parts_(env, dir_ + "/tasks/parts"), state_(std::move(state)) {}
  Result<std::string> read_manifest_file(const std::string& file) const;
  static constexpr const char* kLost = "lost";  // no task's entry: those have a prefix
  Status note_loss();
  Status change(const std::string& task, std::optional<std::string> entry);
  void sweep_parts();
  Env& env_;
  std::string dir_;
  PackageParts parts_;
  std::unique_ptr<store::StateFile> state_;
  std::map<std::string, InstalledTask> tasks_;
  bool unsure_ = false;  // which entries the file holds
};

}  // namespace walle::container
