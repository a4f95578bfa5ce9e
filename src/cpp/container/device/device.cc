#include "container/device/device.h"

#include <filesystem>

#include "base/bytes.h"
#include "base/mapped_file.h"
#include "container/device/device_core.h"
#include "container/device/package_version.h"

namespace walle::container {

Device::Device(std::shared_ptr<DeviceCore> core) : core_(std::move(core)) {}

Device::~Device() { core_->destroy(); }

Result<std::unique_ptr<Device>> Device::open(Env& env, const std::string& dir, DeviceOptions options) {
  WALLE_ASSIGN(std::shared_ptr<DeviceCore> core, DeviceCore::open(env, dir, std::move(options)));
  return std::unique_ptr<Device>(new Device(std::move(core)));
}

Result<stream::Event> Device::record(const stream::Event& event, bool durable) {
  return core_->record(event, durable);
}

Status Device::declare(const stream::EventDecl& event) {
  WALLE_TRY(core_->check_open());
  return core_->processor->declare(event);
}

Result<uint16_t> Device::page(std::string_view name) {
  WALLE_TRY(core_->check_open());
  return core_->processor->page(name);
}

Result<uint16_t> Device::state(std::string_view name) {
  WALLE_TRY(core_->check_open());
  return core_->processor->state(name);
}

const stream::Catalog& Device::catalog() const { return core_->processor->catalog(); }

Result<std::string> Device::install(std::string bundle) { return core_->install(std::move(bundle)); }

Result<std::string> Device::install_package(std::string_view manifest, const std::string& blobs) {
  return core_->install_package(manifest, blobs);
}

Status Device::suits(std::string_view manifest) const { return core_->suits(manifest); }

Result<std::string> Device::install_file(const std::string& path) {
  WALLE_ASSIGN(const std::shared_ptr<base::MappedFile> file, base::MappedFile::open(path));
  if (path.ends_with(kPackageSuffix)) {
    const std::string beside = (std::filesystem::path(path).parent_path() / "blobs").string();
    return core_->install_package(base::as_text(file->bytes()), beside);
  }
  return core_->install(std::string(base::as_text(file->bytes())));
}

Status Device::remove(const std::string& name) { return core_->remove(name); }

void Device::set_fact(const std::string& name, bool holds) { core_->set_fact(name, holds); }

std::map<std::string, bool> Device::facts() const { return core_->facts.all(); }

void Device::on_result(std::function<void(const TaskResult&)> callback) {
  core_->rooms->on_result(std::move(callback));
}

std::vector<TaskInfo> Device::tasks() const { return core_->tasks(); }

Result<TaskInfo> Device::task(const std::string& name) const { return core_->task(name); }

DeviceStats Device::stats() const { return core_->stats(); }

const std::string& Device::dir() const { return core_->dir(); }

const DeviceOptions& Device::options() const { return core_->options(); }

std::string Device::vm_id() const { return core_->vm_id(); }

Commits& Device::commits() { return *core_->commits; }

stream::Processor& Device::processor() { return *core_->processor; }

bool Device::wait_idle(int64_t timeout_us) { return core_->wait_idle(timeout_us); }

void Device::trim() { core_->trim(); }

Status Device::advance(int64_t now_us) { return core_->advance(now_us); }

Status Device::maintain() {
  WALLE_TRY(core_->check_open());
  return core_->maintain();
}

Status Device::close() { return core_->close(); }

}  // namespace walle::container
