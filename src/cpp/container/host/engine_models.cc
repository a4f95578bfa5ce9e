#include "container/host/engine_models.h"

#include <mutex>
#include <span>

#include "ir/walle_file.h"
#include "runtime/model.h"

namespace walle::container {

namespace {

// Keeps the bytes, so that their address names the model as long as it lives.
struct Parsed {
  Buffer bytes;
  std::shared_ptr<runtime::Model> model;
};

// Under the lock from the look to the entry: isolates that load one model at the same moment wait for one
// parse, instead of each holding a copy until the last but one is dropped. Other models wait for it, too,
// which is short because weights are not copied.
Result<std::shared_ptr<Parsed>> parse(const std::string& name, const Buffer& bytes) {
  static std::mutex lock;
  static std::map<const std::byte*, std::weak_ptr<Parsed>> known;
  const std::lock_guard guard(lock);
  std::erase_if(known, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<Parsed>& slot = known[bytes.data()];
  if (std::shared_ptr<Parsed> there = slot.lock()) return there;
  WALLE_ASSIGN(ir::ModelData data, ir::parse_walle(bytes, "resource '" + name + "'", ir::Check::graph));
  WALLE_ASSIGN(std::shared_ptr<runtime::Model> model, runtime::Model::create(std::move(data)));
  auto made = std::make_shared<Parsed>(Parsed{bytes, std::move(model)});
  slot = made;
  return made;
}

}  // namespace

struct EngineModels::Loaded {
  std::shared_ptr<Parsed> parsed;
  std::unique_ptr<runtime::Session> session;
};

Result<int64_t> EngineModels::load(const std::string& name, const Buffer& bytes, int threads) {
  if (loaded_.size() >= kMaxLoaded) {
    return resource_error({"model '", name, "' as number ", loaded_.size() + 1},
                          {"at most ", kMaxLoaded, " loaded models"}, "walle.engine.load",
                          "close models that are not needed")
        .of_kind(base::ErrorKind::no_memory);
  }
  WALLE_ASSIGN(std::shared_ptr<Parsed> parsed, parse(name, bytes));
  runtime::SessionOptions options;
  options.threads = threads;
  WALLE_ASSIGN(std::unique_ptr<runtime::Session> session, parsed->model->session(options));
  loaded_[next_] = std::make_shared<Loaded>(Loaded{std::move(parsed), std::move(session)});
  return next_++;
}

Result<runtime::Session*> EngineModels::find(int64_t handle) const {
  const auto found = loaded_.find(handle);
  if (found != loaded_.end()) return found->second->session.get();
  return argument_error("a model that was closed", "a loaded model", "walle.engine", "load it again");
}

}  // namespace walle::container
