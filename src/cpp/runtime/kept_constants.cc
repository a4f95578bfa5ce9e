#include "runtime/kept_constants.h"

#include "backends/host_memory.h"
#include "base/log.h"

namespace walle::runtime {

namespace {
using backends::Handle;
using backends::host_memory;

// Host memory that lies in a file: of one block, which frees this object with itself.
class FileMemory final : public backends::Memory {
 public:
  static Result<backends::Block> block(WeightsCache::Answer found) {
    const auto bytes = std::ssize(found.block);
    return backends::Block::allocate(*new FileMemory(std::move(found)), bytes);
  }

  std::string_view name() const override { return host_memory().name(); }
  Result<Handle> allocate(int64_t) override { return host_memory().of(found_.block.data()); }
  void free(Handle) override { delete this; }
  Status copy_in(Handle to, const void*, int64_t) override { return read_only(to); }
  Status copy_out(void* to, Handle from, int64_t bytes) override {
    return host_memory().copy_out(to, from, bytes);
  }
  Status copy_within(Handle to, Handle, int64_t) override { return read_only(to); }
  Status flush() override { return {}; }
  void discard(Handle, int64_t) override {}

 private:
  explicit FileMemory(WeightsCache::Answer found) : found_(std::move(found)) {}
  ~FileMemory() = default;
  static Status read_only(Handle) {
    return internal_error("a copy into packed weights of a file", "weights cache");
  }

  WeightsCache::Answer found_;
};

// Of a block in host memory; nothing of any other.
std::span<const std::byte> bytes_of(const backends::Block& block) {
  const std::byte* data = host_memory().pointer(block.handle());
  return data ? std::span(data, static_cast<size_t>(block.bytes())) : std::span<const std::byte>();
}
}  // namespace

Result<backends::SharedBlock> KeptConstants::get(std::span<const Tensor* const> sources,
                                                 const std::string& kind,
                                                 const std::function<Result<backends::Block>()>& make) {
  return prepared_.get(sources, kind, [&] { return find_or_make(sources, kind, make); });
}

Result<backends::Block> KeptConstants::find_or_make(std::span<const Tensor* const> sources,
                                                    const std::string& kind,
                                                    const std::function<Result<backends::Block>()>& make) {
  const Digest key = cache_.key_of(sources, kind);
  WeightsCache::Answer found = cache_.find(key);
  if (found.found == WeightsCache::Found::whole) {
    count("cache");
    prepared_.watch(found.file);
    return FileMemory::block(std::move(found));
  }
  const bool damaged = found.found == WeightsCache::Found::damaged;
  if (damaged)
    base::log(base::LogLevel::warning,
              "weights cache: '" + cache_.path_of(key) + "' is damaged; its weights are packed anew");
  WALLE_ASSIGN(backends::Block made, make());
  const Result<bool> kept = cache_.keep(key, bytes_of(made));
  if (!kept.ok()) base::log(base::LogLevel::warning, "weights cache: " + kept.error().message());
  count(!kept.ok() || !*kept ? "not_kept" : damaged ? "mended" : "kept");
  return made;
}

void KeptConstants::count(const char* source) {
  std::lock_guard lock(mutex_);
  ++sources_[source];
}

std::map<std::string, int> KeptConstants::sources() const {
  std::lock_guard lock(mutex_);
  return sources_;
}

}  // namespace walle::runtime
