// What backends made of a model's constants: packed weights, copies in a device's memory. One per model,
// shared by its sessions.
//
// Thread-safe. Each entry keeps its sources alive, so an address in use as a key cannot be given to another
// tensor. Sources that lie in a file leave memory once something was made of them; whoever reads them after
// all gets them from the file again.
#pragma once

#include <map>
#include <mutex>

#include "backends/backend.h"

namespace walle::runtime {

class PreparedConstants final : public backends::ConstantCache {
 public:
  Result<backends::SharedBlock> get(std::span<const Tensor* const> sources, const std::string& kind,
                                    const std::function<Result<backends::Block>()>& make) override;
  backends::SharedSlot slot(std::span<const Tensor* const> sources, const std::string& kind) override;

 private:
  struct Key {
    std::vector<uintptr_t> sources;  // addresses of their bytes
    std::string kind;
    auto operator<=>(const Key&) const = default;
  };
  struct Entry {
    std::vector<Tensor> sources;
    std::shared_ptr<backends::PreparedSlot> slot;
  };
  Entry& entry(std::span<const Tensor* const> sources, const std::string& kind);

  std::mutex mutex_;
  std::map<Key, Entry> entries_;
};

}  // namespace walle::runtime
