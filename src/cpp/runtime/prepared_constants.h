// What backends made of a model's constants: packed weights, copies in a device's memory. One per model,
// shared by its sessions.
//
// Thread-safe. Each entry keeps its sources alive, so an address in use as a key cannot be given to another
// tensor; it goes with the last plan that holds them, or with the model. Sources that lie in a file leave
// memory once something was made of them; whoever reads them after all gets them from the file again.
#pragma once

#include <functional>
#include <map>
#include <mutex>

#include "backends/backend.h"
#include "runtime/handle_count.h"

namespace walle::runtime {

class PreparedConstants final : public backends::ConstantCache {
 public:
  Result<backends::SharedBlock> get(std::span<const Tensor* const> sources, const std::string& kind,
                                    const std::function<Result<backends::Block>()>& make) override;
  backends::SharedSlot slot(std::span<const Tensor* const> sources, const std::string& kind) override;

  // As of FoldedConstants: an entry goes once nobody else holds what it was made of.
  void count(HandleCount& counts) const;
  void drop_unused(const HandleCount& counts);
  void drop_unheld();  // what no kernel holds, of the model's own constants too
  std::mutex& mutex() { return mutex_; }
  size_t entries() const;
  int64_t bytes() const;
  // Of what was made of such sources.
  int64_t bytes_of(const std::function<bool(const Tensor&)>& source) const;

  // Some block lies in this file from now on, and keeps it: what no block lies in is mapped no longer.
  void watch(const std::shared_ptr<const base::MappedFile>& file);
  // A resource error when one of these files was written to or cut: asked before every run, 0.2 us a file.
  Status check_files() const;

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

  mutable std::mutex mutex_;
  std::map<Key, Entry> entries_;
  mutable std::mutex files_mutex_;  // of its own: a run does not wait for another session's packing
  std::vector<std::weak_ptr<const base::MappedFile>> files_;
};

}  // namespace walle::runtime
