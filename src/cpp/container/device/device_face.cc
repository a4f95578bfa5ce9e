#include "container/device/device_face.h"

#include "base/nearest_name.h"
#include "container/device/telling.h"
#include "container/task/task_version.h"

namespace walle::container {

Result<std::unique_ptr<DeviceFace>> DeviceFace::open(Env& env, const std::string& dir,
                                                     DeviceOptions options) {
  WALLE_ASSIGN(std::unique_ptr<Device> device, Device::open(env, dir, std::move(options)));
  std::unique_ptr<DeviceFace> face(new DeviceFace(std::move(device)));
  face->catalog_ = std::make_shared<const stream::Catalog>(face->device_->catalog());
  return face;
}

Result<std::shared_ptr<Device>> DeviceFace::device(const char* call) const {
  {
    const std::lock_guard guard(copying_);
    if (device_ != nullptr && (!closed() || Telling::here())) return device_;
  }
  return argument_error("a closed device", "an open one", call, "open the folder again");
}

Status DeviceFace::close() {
  attached_.stop_all();
  closed_.store(true, std::memory_order_release);
  std::shared_ptr<Device> device;
  {
    const std::lock_guard guard(copying_);
    device = device_;
  }
  if (device == nullptr) return {};
  Status status = device->close();
  const std::lock_guard guard(copying_);
  device_.reset();
  return status;
}

std::shared_ptr<const stream::Catalog> DeviceFace::catalog() const {
  const std::lock_guard guard(copying_);
  return catalog_;
}

template <class Change>
auto DeviceFace::changing(const char* call, const Change& change) {
  const std::lock_guard guard(changing_);
  const Result<std::shared_ptr<Device>> open = device(call);
  using Answer = decltype(change(**open));
  if (!open.ok()) return Answer(open.error());
  Answer answer = change(**open);
  auto fresh = std::make_shared<const stream::Catalog>((*open)->catalog());
  const std::lock_guard copying(copying_);
  catalog_ = std::move(fresh);
  return answer;
}

Status DeviceFace::declare(const stream::EventDecl& event) {
  return changing("declare", [&](Device& device) { return device.declare(event); });
}

Status DeviceFace::declare_page(std::string_view page) {
  return changing("declare_page", [&](Device& device) { return device.page(page).status(); });
}

Status DeviceFace::declare_state(std::string_view state) {
  return changing("declare_state", [&](Device& device) { return device.state(state).status(); });
}

Result<std::string> DeviceFace::install(std::string bundle) {
  return changing("install", [&](Device& device) { return device.install(std::move(bundle)); });
}

Result<std::string> DeviceFace::install_package(std::string_view manifest, const std::string& blobs) {
  return changing("install_package", [&](Device& device) { return device.install_package(manifest, blobs); });
}

Result<std::string> DeviceFace::install_file(const std::string& path) {
  return changing("install", [&](Device& device) { return device.install_file(path); });
}

Result<std::vector<std::string>> DeviceFace::tables(const std::string& task) const {
  WALLE_ASSIGN(const std::shared_ptr<Device> open, device("tables"));
  const std::string prefix = table_name(task, "");
  std::vector<std::string> names;
  for (const store::TableInfo& info : open->commits().tables().tables()) {
    if (info.decl.name.starts_with(prefix)) names.push_back(info.decl.name.substr(prefix.size()));
  }
  return names;
}

Result<std::string> DeviceFace::known_table(Device& device, const std::string& task,
                                            const std::string& table) const {
  std::string name = table_name(task, table);
  if (device.commits().tables().find(name)) return name;
  WALLE_ASSIGN(const std::vector<std::string> known, tables(task));
  if (known.empty()) {
    return argument_error({"table '", table, "' of task '", task, "', which has no tables"},
                          "a task that is installed and declares tables", "results",
                          "see tasks() for the names of tasks")
        .of_kind(base::ErrorKind::no_such_key);
  }
  const std::string_view nearest = base::nearest_name(table, known);
  std::string expected;
  for (const std::string& each : known) expected += (expected.empty() ? "one of: " : ", ") + each;
  return argument_error({"table '", table, "' of task '", task, "'"}, expected, "results",
                        nearest.empty() ? "choose one of them" : "use '" + std::string(nearest) + "'")
      .of_kind(base::ErrorKind::no_such_key);
}

Result<store::TableColumns> DeviceFace::read(const std::string& task, const std::string& table, uint64_t from,
                                             uint64_t limit, const std::vector<std::string>& columns) const {
  WALLE_ASSIGN(const std::shared_ptr<Device> open, device("results"));
  WALLE_ASSIGN(const std::string name, known_table(*open, task, table));
  return open->commits().tables().read(name, from, limit, columns);
}

Result<store::TableColumns> DeviceFace::last(const std::string& task, const std::string& table,
                                             uint64_t count) const {
  WALLE_ASSIGN(const std::shared_ptr<Device> open, device("results"));
  WALLE_ASSIGN(const std::string name, known_table(*open, task, table));
  return open->commits().tables().last(name, count);
}

Result<store::TableInfo> DeviceFace::info(const std::string& task, const std::string& table) const {
  WALLE_ASSIGN(const std::shared_ptr<Device> open, device("results"));
  WALLE_ASSIGN(const std::string name, known_table(*open, task, table));
  return open->commits().tables().info(name);
}

}  // namespace walle::container
