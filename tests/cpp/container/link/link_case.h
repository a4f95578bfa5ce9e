// What the tests of container/link share: a device, and packages staged as an agent stages
// them.
#pragma once

#include "container/device/device.h"
#include "container/package_case.h"
#include "link/agent/agent_host.h"

namespace walle::container {

class LinkTest : public PackageTest {
 protected:
  void TearDown() override {
    device_.reset();
    PackageTest::TearDown();
  }

  void open_device() {
    Result<std::unique_ptr<Device>> opened = Device::open(*env_, dir_, options_);
    ASSERT_TRUE(opened.ok()) << opened.error().message();
    device_ = std::move(opened).value();
  }
  std::shared_ptr<DeviceCore> core() {
    Result<std::shared_ptr<DeviceCore>> held = device_->core("a test");
    EXPECT_TRUE(held.ok());
    return held.ok() ? *held : nullptr;
  }
  link::StagedPackage stage(const Packed& packed) {
    lay_out(packed);
    return {.task = packed.package.task,
            .version = packed.package.version,
            .digest = *package_digest(packed.manifest()),
            .manifest = packed.manifest(),
            .blobs = blobs_};
  }
  link::StagedPackage stage(const Manifest& m, const std::string& text) { return stage(pack(m, text)); }

  // Records taps 1 to `count` and waits for what they start.
  void taps(int64_t count) {
    const std::shared_ptr<DeviceCore> on = core();
    for (int64_t item = 1; item <= count; ++item) {
      const stream::Value contents[] = {stream::Value::of(item), stream::Value::of(0.5),
                                        stream::Value::of(std::string_view("pen"))};
      stream::Event event;
      event.ts = env_->wall_us();
      event.event = *on->catalog().find_event("tap");
      event.contents = contents;
      const Result<stream::Event> recorded = on->record(event);
      ASSERT_TRUE(recorded.ok()) << recorded.error().message();
    }
    ASSERT_TRUE(on->wait_idle(kPatienceUs));
  }

  std::unique_ptr<Device> device_;
};

// A disk of its own for what is written below a folder: full from some write on.
class FullBelow final : public Env {
 public:
  FullBelow(Env& on, std::string folder, int64_t writes)
      : on_(on), folder_(std::move(folder)), left_(writes) {}
  int64_t writes() const { return writes_.load(); }

  Result<std::unique_ptr<base::WritableMap>> map_writable(const std::string& path, size_t size) override {
    WALLE_TRY(spend(path));
    return on_.map_writable(path, size);
  }
  Result<std::string> read_file(const std::string& path) override { return on_.read_file(path); }
  Result<std::string> read_prefix(const std::string& path, size_t size) override {
    return on_.read_prefix(path, size);
  }
  using Env::replace_file;
  Status replace_file(const std::string& path, uint64_t size, base::FileAccess access,
                      const std::function<Status(base::FileWriter&)>& fill) override {
    WALLE_TRY(spend(path));
    return on_.replace_file(path, size, access, fill);
  }
  Status remove_file(const std::string& path) override { return on_.remove_file(path); }
  Status make_dirs(const std::string& path) override { return on_.make_dirs(path); }
  Result<std::vector<std::string>> list_files(const std::string& dir) override { return on_.list_files(dir); }
  int64_t file_size(const std::string& path) override { return on_.file_size(path); }
  int64_t wall_us() override { return on_.wall_us(); }
  int64_t steady_us() override { return on_.steady_us(); }

 private:
  Status spend(const std::string& path) {
    if (!path.starts_with(folder_)) return {};
    ++writes_;
    if (left_.fetch_sub(1) > 0) return {};
    return resource_error("no space left on device", "room", path, "free some");
  }

  Env& on_;
  std::string folder_;
  std::atomic<int64_t> left_;
  std::atomic<int64_t> writes_ = 0;
};

}  // namespace walle::container
