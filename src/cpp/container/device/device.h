// Device: one folder in which events are recorded and tasks run. record() of an event ends in stored results
// of every task whose trigger it completed.
//
//   event -> log -> triggers -> the task's queue -> a worker and the task's isolate -> one commit ->
//   on_result
//
// Exactly once: a firing's rows, its sends and that it is done are one frame of the redo journal. After a
// crash, whatever is not in a frame runs again under the same number, and what is in one never does. What a
// task writes past the frame - walle.kv - it may write again.
//
// Threads: any, for every call. on_result is called from the workers, for one task's firings in their order.
// A folder has one device at a time, and it belongs to the process that opened it. A call that cannot be
// stopped keeps its thread and what it may touch, the folder among that, until it ends by itself.
//
// The folder: log/ and processor.wals (events, triggers), commits.walj, tables/, egress/, outbox/ (results),
// kv/<task>, tasks.wals and tasks/ (what is installed). docs/concepts/container.md.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "container/device/commits.h"
#include "container/device/device_options.h"
#include "container/device/task_info.h"
#include "stream/processor/processor.h"

namespace walle::container {

class DeviceCore;

class Device {
 public:
  static Result<std::unique_ptr<Device>> open(Env& env, const std::string& dir, DeviceOptions options = {});
  ~Device();  // close()
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // As stream::Processor::record. Never waits for a task.
  Result<stream::Event> record(const stream::Event& event, bool durable = false);
  Status declare(const stream::EventDecl& event);
  Result<uint16_t> page(std::string_view name);
  Result<uint16_t> state(std::string_view name);
  const stream::Catalog& catalog() const;

  // Puts a .wtask with a manifest in, or replaces the task of its name: a firing that runs ends on the old
  // version, the next one begins on the new, and triggers whose name and text stay go on with what they have
  // under way. Durable when it returns its name. After an error all is as before, but that a disk that failed
  // in the last step may show the new version, whole, at the next open.
  Result<std::string> install(std::string bundle);
  // Of a .walp, a package's manifest, the files lie in the folder `blobs` beside it.
  Result<std::string> install_file(const std::string& path);
  // The same from the parts of a package: the manifest's bytes, and a folder with every file under its
  // SHA-256 in hexadecimal (docs/reference/formats/package.md). Sizes, digests and names are verified before
  // anything runs. Large files get a second name where the file system allows and are copied elsewhere:
  // nobody may write in place to what lies in the folder; it may be removed.
  Result<std::string> install_package(std::string_view manifest, const std::string& blobs);
  // Whether this device can run it, as far as its manifest tells: before the files are fetched.
  Status suits(std::string_view manifest) const;
  // A firing that runs is the last one; what waits is dropped. Its tables, its walle.kv and what waits in the
  // outbox stay, and a task of the name that comes later goes on with them, and with its numbers. Nothing of
  // it may leave any more, not even what the firing that runs would send; what it has spent of its budgets
  // today stays spent.
  Status remove(const std::string& name);

  // What holds on this device: charging, unmetered, idle ... Any name; one that was never set does not hold.
  void set_fact(const std::string& name, bool holds);
  std::map<std::string, bool> facts() const;

  // Called behind each firing's commit, from a worker, which waits for it; none for no one. Not called again
  // after a crash between the two: what must not be missed is in the tables.
  void on_result(std::function<void(const TaskResult&)> callback);

  std::vector<TaskInfo> tasks() const;  // by name
  Result<TaskInfo> task(const std::string& name) const;
  DeviceStats stats() const;
  const std::string& dir() const;
  const DeviceOptions& options() const;  // as it was opened with
  std::string vm_id() const;
  // Result tables, outbox, gate, ledger. A task's table is named as table_name() says.
  Commits& commits();
  stream::Processor& processor();

  // Waits until no task is queued or running; those that wait for facts or are set aside do not count. False:
  // not within that time.
  bool wait_idle(int64_t timeout_us);
  // Lets go of the isolates of tasks that do not run: for a device that is short of memory.
  void trim();
  // Time and maintenance by hand, for a device without a thread for them (DeviceOptions::background).
  Status advance(int64_t now_us);
  Status maintain();

  // Firings under way end, or are stopped after DeviceOptions::grace_ms and run again after the next open, as
  // those do that wait; then everything is written. Calls after it are errors; the folder is free when the
  // object is gone.
  Status close();

 private:
  explicit Device(std::shared_ptr<DeviceCore> core);
  std::shared_ptr<DeviceCore> core_;
};

}  // namespace walle::container
