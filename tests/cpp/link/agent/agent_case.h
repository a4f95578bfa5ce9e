// A server with a repository and files, a plan, and a device in memory, for the tests of the agent.
//
// What the device holds lies in the Env's files, as a real one's does: a copy of the Env is what a killed
// process leaves behind.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "base/fault_env.h"
#include "link/agent/agent.h"
#include "link/fake_repository.h"

namespace walle::link {

inline constexpr const char* kUrl = "mem://cloud";

// The paths of a server before the URLs of a fake repository.
class CloudRoutes final : public Transport {
 public:
  explicit CloudRoutes(FakeServer& server) : server_(server) {}
  std::string name() const override { return server_.name(); }
  Result<int> get(const HttpGet& request, const BodySink& body) override {
    HttpGet there = request;
    there.url = route(request.url);
    return server_.get(there, body);
  }
  Result<int> post(const HttpPost& request, const BodySink& body) override {
    return server_.post(request, body);
  }
  static std::string route(const std::string& url) {
    const std::string metadata = std::string(kUrl) + "/v1/tuf/metadata/";
    const std::string targets = std::string(kUrl) + "/v1/tuf/targets/";
    if (url.starts_with(metadata)) return kMetadataUrl + url.substr(metadata.size());
    if (url.starts_with(targets)) return kTargetUrl + url.substr(targets.size());
    return url;
  }

 private:
  FakeServer& server_;
};

// A device whose tasks are lines of the file /host: "task version digest params".
class FakeHost final : public AgentHost {
 public:
  explicit FakeHost(Env& env) : env_(env), there_(read()) {}

  std::vector<HostedTask> tasks() override {
    std::vector<HostedTask> out;
    for (const auto& [name, entry] : there_) {
      HostedTask task;
      if (const auto known = fare.find(entry.version); known != fare.end()) task = known->second;
      task.name = name;
      task.version = entry.version;
      task.package = entry.digest;
      task.params = entry.params;
      out.push_back(std::move(task));
    }
    return out;
  }
  Status suits(std::string_view manifest) override {
    WALLE_ASSIGN(const Package package, read_package(manifest));
    if (package.vm == "cpython-3.13.5/walle-2") return {};
    return argument_error("VM " + package.vm, "cpython-3.13.5/walle-2", "a package", "pack it again");
  }
  Result<Probation> probation(const StagedPackage& staged) override {
    expect_whole(staged);
    probations.push_back(staged.version);
    if (on_probation) on_probation();
    if (const auto found = bad.find(staged.version); found != bad.end()) return Probation{1, found->second};
    return Probation{1, std::nullopt};
  }
  Status install(const StagedPackage& staged) override {
    expect_whole(staged);
    if (install_error) return *install_error;
    auto tasks = there_;
    tasks[staged.task] = {staged.version, staged.digest, staged.params};
    WALLE_TRY(write(tasks));
    installs.push_back(staged.version);
    return {};
  }
  Status remove(const std::string& task) override {
    auto tasks = there_;
    if (tasks.erase(task) == 0) return {};
    return write(tasks);
  }

  // Of `task`; empty: it is not there.
  std::string version(const std::string& task) {
    const auto tasks = there_;
    const auto found = tasks.find(task);
    return found == tasks.end() ? "" : found->second.version;
  }
  std::string params(const std::string& task) { return there_[task].params; }
  void put_by_hand(const std::string& task, const std::string& version) {
    auto tasks = there_;
    tasks[task] = {version, "", ""};
    EXPECT_TRUE(write(tasks).ok());
  }

  std::map<std::string, TaskTrouble> bad;  // by version: it fails its probation
  std::map<std::string, HostedTask> fare;  // by version: how it does
  std::vector<std::string> probations, installs;
  std::optional<Error> install_error;
  std::function<void()> on_probation;

 private:
  struct Entry {
    std::string version, digest, params;
  };
  using Entries = std::map<std::string, Entry>;

  // What is run or put in is whole, to the last byte.
  void expect_whole(const StagedPackage& staged) {
    EXPECT_EQ(FakeRepository::sha256(staged.manifest), staged.digest);
    const Result<Package> package = read_package(staged.manifest);
    ASSERT_TRUE(package.ok());
    EXPECT_EQ(package->task, staged.task);
    EXPECT_EQ(package->version, staged.version);
    for (const PackageFile& file : package->files) {
      const std::string digest = to_hex(file.sha256);
      const std::string path = staged.blobs + "/" + digest;
      ASSERT_EQ(env_.file_size(path), static_cast<int64_t>(file.size)) << file.name;
      const Result<std::string> bytes = env_.read_file(path);  // may fail on purpose
      if (!bytes.ok()) continue;
      EXPECT_EQ(FakeRepository::sha256(*bytes), digest) << file.name;
    }
  }
  Entries read() {
    Entries out;
    if (env_.file_size("/host") < 0) return out;
    const std::string text = *env_.read_file("/host");
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string name;
      Entry entry;
      std::getline(words, name, ' ');
      for (std::string* word : {&entry.version, &entry.digest, &entry.params})
        std::getline(words, *word, ' ');
      out[name] = entry;
    }
    return out;
  }
  Status write(const Entries& tasks) {
    std::string text;
    for (const auto& [name, entry] : tasks)
      text += name + " " + entry.version + " " + entry.digest + " " + entry.params + "\n";
    WALLE_TRY(env_.replace_file("/host", text));
    there_ = tasks;
    return {};
  }

  Env& env_;
  Entries there_;
};

class AgentCase : public testing::Test {
 protected:
  void SetUp() override {
    if (!SigningKey::can_make()) GTEST_SKIP() << "no libcrypto is installed";
    repository = std::make_unique<FakeRepository>(server);
    first_root = repository->current["root"];
    repository->delegate({"targets", "director", {"director/*"}, true});
    repository->delegate({"targets", "shop", {"shop/*/*"}, true});
    env->set_wall_us(1'861'920'000'000'000);
    plan.epoch = 0;
    sign();
  }

  // A version of task "rank" (or another) that its scenario lists, with these files beside its code.
  PlanRelease publish(const std::string& version, std::map<std::string, std::string> files = {},
                      const std::string& task = "rank", const std::string& vm = "cpython-3.13.5/walle-2") {
    files[std::string(kCodeName)] = "code of " + task + " " + version;
    files[std::string(kTaskManifestName)] = "manifest of " + task + " " + version;
    Package package;
    package.scenario = "shop";
    package.task = task;
    package.version = version;
    package.vm = vm;
    for (const auto& [name, content] : files) {
      PackageFile file;
      file.name = name;
      EXPECT_TRUE(from_hex(FakeRepository::sha256(content), file.sha256));
      file.size = content.size();
      file.kind = name == kCodeName                   ? FileKind::code
                  : name.starts_with(kReservedFolder) ? FileKind::policy
                                                      : FileKind::resource;
      package.files.push_back(std::move(file));
      server.files[blob_url(content)] = content;
    }
    const Result<std::string> manifest = pack_package(package);
    EXPECT_TRUE(manifest.ok()) << manifest.error().message();
    repository->roles["shop"].targets[package.path()] = *manifest;
    PlanRelease release;
    release.id = "r" + std::to_string(++releases);
    release.scenario = "shop";
    release.task = task;
    release.version = version;
    release.path = package.path();
    EXPECT_TRUE(from_hex(FakeRepository::sha256(*manifest), release.sha256));
    release.size = manifest->size();
    return release;
  }
  static std::string blob_url(const std::string& content) {
    return std::string(kUrl) + "/v1/blobs/" + FakeRepository::sha256(content);
  }

  // The plan from now on: these releases, the newest first.
  void direct(std::vector<PlanRelease> wanted, std::vector<PlanKill> kills = {}) {
    ++plan.epoch;
    plan.releases = std::move(wanted);
    plan.kills = std::move(kills);
    const Result<std::string> bytes = write_plan(plan);
    ASSERT_TRUE(bytes.ok()) << bytes.error().message();
    repository->roles["director"].targets[kPlanTarget] = *bytes;
    sign();
  }
  void sign() { repository->publish({"director", "shop", "targets", "snapshot", "timestamp"}); }

  AgentOptions options() const {
    AgentOptions out;
    out.folder = "/cloud";
    out.url = kUrl;
    out.first_root = first_root;
    out.device = 42;
    out.checkpoint_bytes = 2000;
    return out;
  }
  // By a process of its own: what it knows comes from the disk.
  void restart() {
    agent.reset();
    routes = std::make_unique<CloudRoutes>(server);
    auto probations = host ? host->probations : std::vector<std::string>();
    auto bad = host ? host->bad : std::map<std::string, TaskTrouble>();
    auto fare = host ? host->fare : std::map<std::string, HostedTask>();
    host = std::make_unique<FakeHost>(*env);
    host->probations = std::move(probations);
    host->bad = std::move(bad);
    host->fare = std::move(fare);
    auto opened = Agent::open(*env, *routes, *host, options());
    ASSERT_TRUE(opened.ok()) << opened.error().message();
    agent = std::move(*opened);
  }
  Pull pulled() {
    if (!agent) restart();
    Result<Pull> pull = agent->pull();
    EXPECT_TRUE(pull.ok()) << pull.error().message();
    return pull.ok() ? *pull : Pull();
  }
  void expect_settled() {
    const Pull pull = pulled();
    for (const TaskStep& step : pull.steps) EXPECT_EQ(step.error, "") << step.task;
    EXPECT_TRUE(pull.settled);
  }
  std::vector<Report> reports() {
    std::vector<Report> out;
    for (const std::string& body : server.posted) {
      const Result<std::vector<Report>> batch = read_reports(body);
      EXPECT_TRUE(batch.ok());
      out.insert(out.end(), batch->begin(), batch->end());
    }
    return out;
  }
  std::vector<ReportStatus> statuses() {
    std::vector<ReportStatus> out;
    for (const Report& report : reports()) out.push_back(report.status);
    return out;
  }

  std::unique_ptr<base::FaultEnv> env = std::make_unique<base::FaultEnv>();
  FakeServer server;
  std::unique_ptr<FakeRepository> repository;
  std::string first_root;
  PlanData plan;
  int releases = 0;
  std::unique_ptr<CloudRoutes> routes;
  std::unique_ptr<FakeHost> host;
  std::unique_ptr<Agent> agent;
};

}  // namespace walle::link
