#include "runtime/prepared_constants.h"

#include <algorithm>

namespace walle::runtime {

PreparedConstants::Entry& PreparedConstants::entry(std::span<const Tensor* const> sources,
                                                   const std::string& kind) {
  Key key{{}, kind};
  for (const Tensor* t : sources) key.sources.push_back(reinterpret_cast<uintptr_t>(t->address()));
  const auto [it, fresh] = entries_.try_emplace(std::move(key));
  if (fresh) {
    for (const Tensor* t : sources) it->second.sources.push_back(*t);
    it->second.slot = std::make_shared<backends::PreparedSlot>();
  }
  return it->second;
}

Result<backends::SharedBlock> PreparedConstants::get(std::span<const Tensor* const> sources,
                                                     const std::string& kind,
                                                     const std::function<Result<backends::Block>()>& make) {
  std::lock_guard lock(mutex_);
  const Entry& found = entry(sources, kind);
  if (found.slot->find()) return found.slot->block();
  WALLE_ASSIGN(backends::Block block, make());
  found.slot->fill(std::make_shared<const backends::Block>(std::move(block)));
  for (const Tensor* t : sources) t->buffer().drop(t->byte_offset(), t->bytes());
  return found.slot->block();
}

backends::SharedSlot PreparedConstants::slot(std::span<const Tensor* const> sources,
                                             const std::string& kind) {
  std::lock_guard lock(mutex_);
  return entry(sources, kind).slot;
}

void PreparedConstants::count(HandleCount& counts) const {
  for (const auto& [key, entry] : entries_)
    for (const Tensor& t : entry.sources) counts.add(t);
}

void PreparedConstants::drop_unused(const HandleCount& counts) {
  std::erase_if(entries_, [&](const auto& e) {
    return std::ranges::none_of(e.second.sources, [&](const Tensor& t) { return counts.held_elsewhere(t); });
  });
}

// Under the lock nobody is given one meanwhile.
void PreparedConstants::drop_unheld() {
  std::lock_guard lock(mutex_);
  std::erase_if(entries_, [](const auto& e) {
    const auto& slot = e.second.slot;
    return slot.use_count() == 1 && (!slot->find() || slot->block().use_count() == 1);
  });
}

size_t PreparedConstants::entries() const {
  std::lock_guard lock(mutex_);
  return entries_.size();
}

int64_t PreparedConstants::bytes() const {
  return bytes_of([](const Tensor&) { return true; });
}

int64_t PreparedConstants::bytes_of(const std::function<bool(const Tensor&)>& source) const {
  std::lock_guard lock(mutex_);
  int64_t sum = 0;
  for (const auto& [key, entry] : entries_) {
    const backends::Block* block = entry.slot->find();
    if (block && std::ranges::any_of(entry.sources, source)) sum += block->bytes();
  }
  return sum;
}

void PreparedConstants::watch(const std::shared_ptr<const base::MappedFile>& file) {
  std::lock_guard lock(files_mutex_);
  std::erase_if(files_, [](const auto& watched) { return watched.expired(); });
  if (file->mapped()) files_.push_back(file);
}

Status PreparedConstants::check_files() const {
  std::lock_guard lock(files_mutex_);
  for (const auto& watched : files_) {
    const auto file = watched.lock();
    if (!file || file->unchanged().ok()) continue;
    return resource_error("packed weights that were written to while they were in use",
                          "files that nobody but the runtime writes", "weights cache",
                          "load the model again; empty the folder of the cache before that");
  }
  return {};
}

}  // namespace walle::runtime
