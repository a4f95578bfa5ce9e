#include "container/device/task_registry.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/log.h"

namespace walle::container {

namespace {

constexpr const char* kPrefix = "task/";
constexpr uint32_t kEntryVersion = 1;

std::string packed(const InstalledTask& entry) {
  base::ByteWriter out;
  out.put(kEntryVersion);
  out.put_text(entry.version);
  out.put_text(entry.file);
  out.put_text(entry.set_aside);
  return out.take();
}

std::optional<InstalledTask> unpacked(std::string_view bytes) {
  base::ByteReader in(bytes);
  if (in.get<uint32_t>() != kEntryVersion) return std::nullopt;
  InstalledTask entry;
  entry.version = in.text();
  entry.file = in.text();
  entry.set_aside = in.text();
  // A file's name from a file: it may not leave the folder.
  if (!in.done() || entry.file.empty() || entry.file.find('/') != std::string::npos) return std::nullopt;
  return entry;
}

}  // namespace

Result<std::unique_ptr<TaskRegistry>> TaskRegistry::open(Env& env, const std::string& dir) {
  WALLE_TRY(env.make_dirs(dir + "/tasks"));
  WALLE_ASSIGN(std::unique_ptr<store::StateFile> state, store::StateFile::open(env, dir + "/tasks.wals"));
  std::unique_ptr<TaskRegistry> made(new TaskRegistry(env, dir, std::move(state)));
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

Result<std::string> TaskRegistry::store(const std::string& task, const std::string& version,
                                        std::string_view bundle) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string digest;
  for (uint64_t rest = base::Hasher().bytes(bundle.data(), bundle.size()).finish(); digest.size() < 16;
       rest >>= 4)
    digest += kDigits[rest & 15];
  std::string file = task + "-" + version + "-" + digest + ".wtask";
  WALLE_TRY(env_.replace_file(dir_ + "/tasks/" + file, bundle));
  return file;
}

Status TaskRegistry::put(const std::string& task, InstalledTask entry) {
  WALLE_TRY(state_->apply({{kPrefix + task, packed(entry)}}));
  tasks_[task] = std::move(entry);
  return {};
}

Status TaskRegistry::erase(const std::string& task) {
  WALLE_TRY(state_->apply({{kPrefix + task, std::nullopt}}));
  tasks_.erase(task);
  return {};
}

void TaskRegistry::sweep() {
  // What a damaged list named is all there is of it: somebody may want to install it again.
  if (lost()) return;
  auto files = env_.list_files(dir_ + "/tasks");
  if (!files.ok()) return;
  for (const std::string& file : *files) {
    const bool named =
        std::ranges::any_of(tasks_, [&](const auto& entry) { return entry.second.file == file; });
    if (!named) (void)env_.remove_file(dir_ + "/tasks/" + file).ok();
  }
}

Result<std::shared_ptr<const vm::Bundle>> TaskRegistry::load(const std::shared_ptr<const vm::Vm>& vm,
                                                             const std::string& file) const {
  const std::string path = dir_ + "/tasks/" + file;
  // Mapped where there is a file to map, so that a model is used where it lies.
  if (&env_ == &Env::system()) return vm::Bundle::load(vm, path);
  WALLE_ASSIGN(std::string bytes, env_.read_file(path));
  return vm::Bundle::open(vm, std::move(bytes));
}

}  // namespace walle::container
