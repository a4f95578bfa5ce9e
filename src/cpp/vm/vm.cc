#include "vm/vm.h"

#include <dlfcn.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "vm/attention.h"
#include "vm/convert.h"
#include "vm/fork.h"
#include "vm/thread.h"

namespace walle::vm {

namespace {

using Entry = const wvm_api* (*)(uint32_t);

// CPython's compiler recurses with the source's nesting, up to limits made for 8 MB; with room for builds
// whose frames are larger (debug, sanitizers).
constexpr size_t kCompilerStack = size_t{32} << 20;

void forward_log(void* user, int level, const char* text, size_t size) {
  auto* context = static_cast<TaskContext*>(user);
  context->log_quota.send(context->log, static_cast<base::LogLevel>(level), {text, size});
}

int must_stop(void* user) {
  const auto* context = static_cast<TaskContext*>(user);
  return context != nullptr && context->attention != nullptr && context->attention->must_stop();
}

wvm_tensor* allocate_tensor(uint8_t dtype, uint8_t rank, const int64_t* shape) {
  Result<Tensor> tensor =
      Tensor::allocate(static_cast<DType>(dtype), Shape(std::span<const int64_t>(shape, rank)));
  return tensor.ok() ? lend(std::move(tensor).value()) : nullptr;
}

Result<const wvm_api*> load(const std::string& path) {
  // At once, so that what the system lacks is an error here and not in the middle of a task; local, because
  // the host may be a Python whose functions have the same names.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return backend_error({"the VM library '", path, "' (", dlerror(), ")"}, "a loadable VM library",
                         "Vm::open", "build it (cmake option WALLE_VM) or set WALLE_VM_LIBRARY to its path");
  }
  const auto entry = reinterpret_cast<Entry>(dlsym(library, "walle_vm_entry"));
  const wvm_api* api = entry != nullptr ? entry(WVM_ABI) : nullptr;
  if (api == nullptr) {
    return backend_error({"'", path, "', which does not serve this version of the VM boundary"},
                         {"boundary version ", WVM_ABI}, "Vm::open", "rebuild the VM library");
  }
  return api;
}

Status start(const wvm_api& api, const HostCalls& calls) {
  // Never freed: interpreters ask it until the process ends.
  const auto* host = new wvm_host{.log = forward_log,
                                  .allocate_tensor = allocate_tensor,
                                  .arrays = calls.arrays,
                                  .must_stop = must_stop,
                                  .functions = calls.functions.data(),
                                  .function_count = calls.functions.size()};
  char error[256] = "";
  // Started on a thread of its own: CPython remembers the thread that initialises it, which may be any thread
  // of the host.
  int status = -1;
  run_on_thread(kCompilerStack, [&] { status = api.start(host, error, sizeof error); });
  if (status != 0) return internal_error({"the VM does not start: ", error}, "Vm::open");
  return {};
}

}  // namespace

Result<std::shared_ptr<const Vm>> Vm::open(const std::string& path, const HostCalls& calls) {
  WALLE_TRY(refuse_forked_child("Vm::open"));
  watch_for_forks();
  static std::mutex lock;
  static std::map<std::string, std::shared_ptr<const Vm>> opened;
  // Held while one is opened: a library starts once per process. It is never closed, since its main
  // interpreter never ends.
  const std::lock_guard guard(lock);
  std::shared_ptr<const Vm>& known = opened[path];
  if (known == nullptr) {
    WALLE_ASSIGN(const wvm_api* api, load(path));
    // The same library under another name has started already.
    const auto same = std::ranges::find_if(
        opened, [&](const auto& entry) { return entry.second != nullptr && entry.second->api_ == api; });
    if (same == opened.end()) WALLE_TRY(start(*api, calls));
    known = same != opened.end() ? same->second : std::shared_ptr<const Vm>(new Vm(api, calls.functions));
  }
  if (known->calls_.data() == calls.functions.data() && known->calls_.size() == calls.functions.size())
    return known;
  return argument_error({"the VM library '", path, "' with ", calls.functions.size(),
                         " other host calls than it was opened with before"},
                        "the same table of host calls in all of the process", "Vm::open",
                        "keep one table and open every VM with it");
}

Result<std::vector<uint8_t>> Vm::allowed(const std::vector<std::string>& names) const {
  std::vector<uint8_t> flags(calls_.size());
  for (const std::string_view name : names) {
    bool known = false;
    for (size_t i = 0; i < flags.size(); ++i) {
      const std::string_view module = calls_[i].module;
      const bool within = name.size() > module.size() && name.starts_with(module) &&
                          name[module.size()] == '.' && name.substr(module.size() + 1) == calls_[i].name;
      if (name != module && !within) continue;
      flags[i] = 1;
      known = true;
    }
    if (!known) {
      return argument_error({"host call '", name, "'"},
                            "a host call as walle.kv.get or a module of them as walle.kv",
                            "Limits, host_calls", "see walle task vm for all of them");
    }
  }
  return flags;
}

std::vector<std::string> Vm::library() const {
  std::vector<const char*> names(api_->library_modules(nullptr, 0));
  api_->library_modules(names.data(), names.size());
  std::vector<std::string> out;
  for (const char* name : names) {
    out.emplace_back(name);
    free(const_cast<char*>(name));
  }
  return out;
}

Error task_error(const Failure& failure, Text where) {
  std::string place = where.str();
  for (const Frame& frame : failure.traceback) {
    if (frame.line != 0)
      place = frame.file + ":" + std::to_string(frame.line);  // the innermost of the task's own
  }
  return base::task_error({failure.type, ": ", failure.message}, "a task that runs to its end", place,
                          "correct the task's source");
}

Result<std::string> Vm::compile(const std::vector<Source>& sources, std::vector<std::string>* log) const {
  WALLE_TRY(refuse_forked_child("Vm::compile"));
  if (!can_compile()) {
    return backend_error({"the ", flavour(), " VM"}, "the full VM, which has a compiler", "Vm::compile",
                         "compile on the server or with the full library");
  }
  std::vector<wvm_source> plain;
  for (const Source& s : sources)
    plain.push_back({.name = s.name.c_str(),
                     .file = s.file.c_str(),
                     .text = s.text.c_str(),
                     .size = s.text.size(),
                     .is_package = s.is_package});
  wvm_blob blob{};
  wvm_result failure{};
  TaskContext context;
  if (log != nullptr) context.log = [&](base::LogLevel, std::string_view line) { log->emplace_back(line); };
  int status = -1;
  run_on_thread(kCompilerStack,
                [&] { status = api_->compile(plain.data(), plain.size(), &context, &blob, &failure); });
  if (status != 0) {
    const Outcome outcome = incoming(failure);
    api_->release_result(&failure);
    return task_error(*outcome.failure, "compiling a task");
  }
  std::string bytes(reinterpret_cast<const char*>(blob.data), blob.size);
  api_->release_blob(&blob);
  return bytes;
}

}  // namespace walle::vm
