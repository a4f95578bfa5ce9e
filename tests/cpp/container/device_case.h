// What the device's tests share: a folder, a catalogue with one event, and tasks made of source text.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <mutex>
#include <random>

#include "container/device/device_core.h"
#include "container/host/host_calls.h"
#include "container/task/manifest.h"
#include "container/task/task_version.h"
#include "vm/fixture.h"
#include "vm/task_file.h"
#include "waits.h"

namespace walle::container {

inline constexpr int64_t kSecondUs = 1'000'000;
inline constexpr int64_t kPatienceUs = std::chrono::microseconds(kPatience).count();

class DeviceTest : public testing::Test {
 protected:
  using Files = std::vector<std::pair<std::string, std::string>>;

  void SetUp() override {
    if (!std::filesystem::exists(vm::library_path("full")))
      GTEST_SKIP() << "no VM library at " << vm::library_path("full");
    Result<std::shared_ptr<const vm::Vm>> opened = vm::Vm::open(vm::library_path("full"), host_calls());
    ASSERT_TRUE(opened.ok()) << opened.error().message();
    vm_ = *opened;
    std::random_device random;
    dir_ = (std::filesystem::temp_directory_path() / ("walle_device_" + std::to_string(random()))).string();
    options_.vm_library = vm::library_path("full");
    options_.catalog = catalog();
    options_.commits.journal_bytes = 1 << 20;
    options_.processor.log.journal_bytes = 1 << 20;
    options_.log = [this](std::string_view task, base::LogLevel, std::string_view line) {
      const std::lock_guard lock(lines_lock_);
      lines_.push_back(std::string(task) + ": " + std::string(line));
    };
  }
  void TearDown() override {
    core_.reset();
    std::error_code none;
    std::filesystem::remove_all(dir_, none);
  }

  static stream::Catalog catalog() {
    stream::Catalog out;
    stream::EventDecl click{.name = "tap", .kind = stream::EventKind::custom, .fields = {}};
    click.fields.push_back({.name = "item", .type = ColumnType::integer});
    click.fields.push_back({.name = "price", .type = ColumnType::real});
    click.fields.push_back({.name = "label", .type = ColumnType::text});
    EXPECT_TRUE(out.declare(click).ok());
    return out;
  }

  // A task with one main(event) that fires at every tap.
  static Manifest manifest(const std::string& name, const std::string& version = "1.0.0") {
    Manifest m;
    m.name = name;
    m.version = version;
    m.triggers = {{"tapped", "tap"}};
    m.main_function = "main";
    m.imports = {"walle"};
    m.host_calls = {"walle.log", "walle.kv", "walle.time", "walle.engine"};
    m.execute_limits.wall_ms = m.preprocess_limits.wall_ms = m.postprocess_limits.wall_ms = 60'000;
    return m;
  }
  // The same with a table `rows` of one column.
  static Manifest with_table(Manifest m) {
    m.tables = {{.name = "rows", .columns = {{"item", ColumnType::integer}, {"text", ColumnType::text}}}};
    return m;
  }

  std::string bundle(const Manifest& m, const std::string& source, const Files& files = {}) const {
    Result<std::string> code = vm_->compile({{"main", "main.py", source, false}});
    EXPECT_TRUE(code.ok()) << code.error().message();
    Result<std::string> packed = pack_manifest(m);
    EXPECT_TRUE(packed.ok()) << packed.error().message();
    std::vector<std::pair<std::string, std::string_view>> parts = {
        {std::string(kManifestName), *packed}, {std::string(vm::kSourceFolder) + "main.py", source}};
    for (const auto& [name, bytes] : files) parts.emplace_back(name, bytes);
    Result<std::string> out = vm::write_task_file(*code, parts);
    EXPECT_TRUE(out.ok()) << out.error().message();
    return *out;
  }

  void open() {
    Result<std::shared_ptr<DeviceCore>> opened = DeviceCore::open(*env_, dir_, options_);
    ASSERT_TRUE(opened.ok()) << opened.error().message();
    core_ = std::move(opened).value();
  }
  void install(const Manifest& m, const std::string& source, const Files& files = {}) {
    const Result<std::string> installed = core_->install(bundle(m, source, files));
    ASSERT_TRUE(installed.ok()) << installed.error().message();
    EXPECT_EQ(*installed, m.name);
  }
  void tap(int64_t item, std::string_view label = "") {
    const Result<stream::Event> recorded = try_tap(item, label);
    ASSERT_TRUE(recorded.ok()) << recorded.error().message();
  }
  Result<stream::Event> try_tap(int64_t item, std::string_view label = "") {
    const stream::Value contents[] = {stream::Value::of(item), stream::Value::of(0.5),
                                      stream::Value::of(label)};
    stream::Event event;
    event.ts = env_->wall_us();
    event.event = *core_->catalog().find_event("tap");
    event.contents = contents;
    return core_->record(event);
  }
  // Items of the rows of a task's table, in their order.
  std::vector<int64_t> items(const std::string& task) {
    Result<store::TableColumns> read = core_->commits().tables().read(table_name(task, "rows"));
    EXPECT_TRUE(read.ok()) << read.error().message();
    return read.ok() ? read->columns[0].cells.integers() : std::vector<int64_t>();
  }
  TaskInfo info(const std::string& task) {
    Result<TaskInfo> got = core_->task(task);
    EXPECT_TRUE(got.ok()) << got.error().message();
    return got.ok() ? *got : TaskInfo();
  }
  // Errors of firings, in the order in which they came.
  void listen() {
    core_->on_result([this](const TaskResult& result) {
      const std::lock_guard lock(lines_lock_);
      results_.push_back(result);
    });
  }

  std::shared_ptr<const vm::Vm> vm_;
  Env* env_ = &Env::system();
  std::string dir_;
  DeviceOptions options_;
  std::shared_ptr<DeviceCore> core_;
  std::mutex lines_lock_;
  std::vector<std::string> lines_;
  std::vector<TaskResult> results_;
};

}  // namespace walle::container
