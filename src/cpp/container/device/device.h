// Device: one folder in which events are recorded and tasks run, as apps and Python hold it. Events, tasks
// and tables by name, from any thread, while tasks are installed.
//
// A catalogue is not synchronised, so readers look names up in a copy that is made anew behind every
// declaration and installation: ids never change, and a name that is too new for a reader's copy was not
// declared when it asked. A closed device answers every call with an error that says so.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "container/device/attached.h"
#include "container/device/device_core.h"
#include "store/table_columns.h"

namespace walle::container {

class Device {
 public:
  static Result<std::unique_ptr<Device>> open(Env& env, const std::string& dir, DeviceOptions options);
  // Closes it. In a child of fork() the device is the parent's and stays as it is; in one of its own
  // callbacks another thread closes it, behind the callback.
  ~Device();

  // What it does, or the error of one that is closed; `call` is what was asked. An on_result callback gets it
  // until close() has waited for that callback's end. Hold it no longer than the call: the folder is given
  // back when the last holder of a closed device lets go.
  Result<std::shared_ptr<DeviceCore>> core(const char* call) const;
  // Ends what is attached, then the device. To close once more does nothing. An error where may_end() is one.
  Status close();
  // Errors in a child of fork(), and where `call` would wait for the callback that it is called from.
  Status may_end(const char* call) const;   // the device, or a thread that works for it
  Status may_wait(const char* call) const;  // for the device's tasks
  // Agents and tunnels; whoever joins leaves before the device goes.
  Attached& attached() const { return attached_; }
  bool closed() const { return closed_.load(std::memory_order_acquire); }

  // As DeviceCore::call; not from a callback, which may be the very turn that it would wait for.
  Result<vm::Value> call(const std::string& task, const std::string& function,
                         std::span<const vm::Value> arguments,
                         std::optional<std::chrono::microseconds> patience) const;

  std::shared_ptr<const stream::Catalog> catalog() const;
  Status declare(const stream::EventDecl& event);
  Status declare_page(std::string_view page);
  Status declare_state(std::string_view state);
  Result<std::string> install(std::string bundle);
  Result<std::string> install_file(const std::string& path);
  Result<std::string> install_package(std::string_view manifest, const std::string& blobs,
                                      std::string_view params = {});

  // Rows of a task's table; the error names the tables that there are. `columns`: none is all.
  Result<store::TableColumns> read(const std::string& task, const std::string& table, uint64_t from,
                                   uint64_t limit, const std::vector<std::string>& columns = {}) const;
  Result<store::TableColumns> last(const std::string& task, const std::string& table, uint64_t count) const;
  Result<store::TableInfo> info(const std::string& task, const std::string& table) const;
  // Names of a task's tables; of a task that was removed, too.
  Result<std::vector<std::string>> tables(const std::string& task) const;

 private:
  explicit Device(std::shared_ptr<DeviceCore> core);
  Status check_process(const char* call) const;
  // Runs `change` and copies the catalogue, which it may have changed even where it failed.
  template <class Change>
  auto changing(const char* call, const Change& change);
  Result<std::string> known_table(DeviceCore& core, const std::string& task, const std::string& table) const;

  const uint64_t process_;
  const void* const name_;  // in callbacks
  mutable Attached attached_;
  std::atomic<bool> closed_ = false;
  std::mutex changing_;  // around whatever changes the catalogue
  // Around the two pointers below, for as long as one is copied.
  mutable std::mutex copying_;
  std::shared_ptr<DeviceCore> core_;  // nullptr: closed
  std::shared_ptr<const stream::Catalog> catalog_;
};

}  // namespace walle::container
