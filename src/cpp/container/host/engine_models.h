// EngineModels: the models that one isolate has loaded, by handle. Parsed models are shared: isolates that
// load the same resource of the same bundle have one copy of its weights and a session each.
//
// Used by the isolate's own thread; the process-wide table of parsed models has its own lock.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "runtime/session.h"
#include "tensor/buffer.h"

namespace walle::container {

class EngineModels {
 public:
  // A task that forgets to close its models must fail before the device runs out of memory.
  static constexpr size_t kMaxLoaded = 16;
  // A task shares the device with the application, and models that run there are small.
  static constexpr int kMaxThreads = 16;

  // `bytes` is a .walle file; `name` appears in messages.
  Result<int64_t> load(const std::string& name, const Buffer& bytes, int threads);
  Result<runtime::Session*> find(int64_t handle) const;
  bool release(int64_t handle) { return loaded_.erase(handle) != 0; }

 private:
  struct Loaded;
  std::map<int64_t, std::shared_ptr<Loaded>> loaded_;
  int64_t next_ = 1;
};

}  // namespace walle::container
