#include "container/device/task_registry.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/log.h"
#include "container/device/package_version.h"
#include "container/host/value_codec.h"
#include "link/crypto.h"

namespace walle::container {

namespace {

constexpr const char* kPrefix = "task/";
constexpr uint32_t kEntryVersion = 2;

std::string packed(const InstalledTask& entry) {
  base::ByteWriter out;
  out.put(kEntryVersion);
  out.put_text(entry.version);
  out.put_text(entry.file);
  out.put_text(entry.set_aside);
  out.put_text(entry.params.empty() ? std::string() : encode_value(vm::Value(entry.params)).value_or(""));
  out.put_text(entry.released);
  return out.take();
}

std::optional<InstalledTask> unpacked(std::string_view bytes) {
  base::ByteReader in(bytes);
  if (in.get<uint32_t>() != kEntryVersion) return std::nullopt;
  InstalledTask entry;
  entry.version = in.text();
  entry.file = in.text();
  entry.set_aside = in.text();
  const std::string params(in.text());
  if (!params.empty()) {
    const std::optional<vm::Value> value = decode_value(params);
    const auto* map = value ? value->get<vm::Map>() : nullptr;
    in.check(map != nullptr);
    if (map != nullptr) entry.params = *map;
  }
  entry.released = in.text();
  // A file's name from a file: it may not leave the folder.
  if (!in.done() || entry.file.empty() || entry.file.find('/') != std::string::npos) return std::nullopt;
  return entry;
}

Result<std::shared_ptr<const vm::Bundle>> load_bundle(Env& env, const std::shared_ptr<const vm::Vm>& vm,
                                                      const std::string& path) {
  // Mapped where there is a file to map, so that a model is used where it lies.
  if (&env == &Env::system()) return vm::Bundle::load(vm, path);
  WALLE_ASSIGN(std::string bytes, env.read_file(path));
  return vm::Bundle::open(vm, std::move(bytes));
}

std::string file_name(const std::string& task, const std::string& version, std::string_view bytes,
                      std::string_view suffix) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string digest;
  for (uint64_t rest = base::Hasher().bytes(bytes.data(), bytes.size()).finish(); digest.size() < 16;
       rest >>= 4)
    digest += kDigits[rest & 15];
  return task + "-" + version + "-" + digest + std::string(suffix);
}

}  // namespace

Result<std::unique_ptr<TaskRegistry>> TaskRegistry::open(Env& env, const std::string& dir) {
  WALLE_TRY(env.make_dirs(dir + "/tasks"));
  WALLE_ASSIGN(std::unique_ptr<store::StateFile> state, store::StateFile::open(env, dir + "/tasks.wals"));
  std::unique_ptr<TaskRegistry> made(new TaskRegistry(env, dir, std::move(state)));
  WALLE_TRY(made->note_loss());
  const std::string_view prefix = kPrefix;
  for (const std::string& key : made->state_->keys(kPrefix)) {
    std::optional<InstalledTask> entry = unpacked(*made->state_->get(key));
    if (entry) {
      made->tasks_[key.substr(prefix.size())] = std::move(*entry);
      continue;
    }
    base::log(base::LogLevel::warning, "'" + dir + "/tasks.wals': the entry '" + key +
                                           "' is none that this version writes; install the task again");
  }
  return made;
}

// Written down before anything is installed over it. A list that is not there beside bundles was removed.
Status TaskRegistry::note_loss() {
  if (state_->readable()) return {};
  WALLE_ASSIGN(const std::vector<std::string> files, env_.list_files(dir_ + "/tasks"));
  if (state_->found() == store::StateFile::Found::nothing && files.empty()) return {};
  base::log(base::LogLevel::warning, "'" + dir_ +
                                         "/tasks.wals': both copies are damaged or gone; which tasks "
                                         "were installed is not known, install them again");
  return state_->apply({{kLost, ""}});
}

Result<std::string> TaskRegistry::store(const std::string& task, const std::string& version,
                                        std::string_view bundle) {
  std::string file = file_name(task, version, bundle, ".wtask");
  WALLE_TRY(env_.replace_file(dir_ + "/tasks/" + file, bundle));
  return file;
}

Result<std::string> TaskRegistry::store_package(const link::Package& package, std::string_view manifest,
                                                const std::string& blobs) {
  WALLE_TRY(parts_.adopt(package, blobs));
  std::string file = file_name(package.task, package.version, manifest, kPackageSuffix);
  WALLE_TRY(env_.replace_file(dir_ + "/tasks/" + file, manifest));
  return file;
}

Status TaskRegistry::put(const std::string& task, InstalledTask entry) {
  WALLE_TRY(change(task, packed(entry)));
  tasks_[task] = std::move(entry);
  return {};
}

Status TaskRegistry::erase(const std::string& task) {
  WALLE_TRY(change(task, std::nullopt));
  tasks_.erase(task);
  return {};
}

Status TaskRegistry::change(const std::string& task, std::optional<std::string> entry) {
  const bool was_unsure = unsure_;
  const bool writes = state_->get(kPrefix + task) != entry;
  // One of the two copies may be written when it fails, and then the next open goes by that one.
  unsure_ = true;
  WALLE_TRY(state_->apply({{kPrefix + task, std::move(entry)}}));
  unsure_ = was_unsure && !writes;
  return {};
}

void TaskRegistry::sweep() {
  // What a damaged list named is all there is of it: somebody may want to install it again.
  if (lost() || unsure_) return;
  auto files = env_.list_files(dir_ + "/tasks");
  if (!files.ok()) return;
  for (const std::string& file : *files) {
    const bool named =
        std::ranges::any_of(tasks_, [&](const auto& entry) { return entry.second.file == file; });
    if (!named) (void)env_.remove_file(dir_ + "/tasks/" + file).ok();
  }
  sweep_parts();
}

void TaskRegistry::sweep_parts() {
  std::set<std::string> named;
  for (const auto& [_, entry] : tasks_) {
    if (!entry.file.ends_with(kPackageSuffix)) continue;
    const Result<std::string> manifest = read_manifest_file(entry.file);
    if (!manifest.ok()) return;
    const Result<link::Package> package = link::read_package(*manifest);
    // Nobody knows any more which parts are its own.
    if (!package.ok()) return;
    for (const link::PackageFile& file : package->files) named.insert(link::to_hex(file.sha256));
  }
  parts_.keep_only(named);
}

Result<std::string> TaskRegistry::read_manifest_file(const std::string& file) const {
  return env_.read_prefix(dir_ + "/tasks/" + file, link::kMostPackageBytes + 1);
}

Result<std::shared_ptr<const TaskVersion>> TaskRegistry::load(const std::shared_ptr<const vm::Vm>& vm,
                                                              const std::string& file) const {
  if (file.ends_with(kPackageSuffix)) {
    WALLE_ASSIGN(const std::string manifest, read_manifest_file(file));
    WALLE_ASSIGN(const link::Package package, link::read_package(manifest));
    WALLE_ASSIGN(std::string digest, package_digest(manifest));
    return open_package(env_, vm, package, std::move(digest), parts_.dir());
  }
  WALLE_ASSIGN(std::shared_ptr<const vm::Bundle> bundle, load_bundle(env_, vm, dir_ + "/tasks/" + file));
  return TaskVersion::open(std::move(bundle));
}

}  // namespace walle::container
