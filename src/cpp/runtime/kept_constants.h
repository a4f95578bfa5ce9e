// The prepared constants of a model, as a session with a weights cache sees them: what is not there yet is
// mapped from the cache, and what the cache lacks is made and kept in it.
//
// Thread-safe. Whatever is mapped belongs to the model's PreparedConstants, whose other sessions use it too.
#pragma once

#include "runtime/prepared_constants.h"
#include "runtime/weights_cache.h"

namespace walle::runtime {

class KeptConstants final : public backends::ConstantCache {
 public:
  KeptConstants(PreparedConstants& prepared, WeightsCache cache)
      : prepared_(prepared), cache_(std::move(cache)) {}

  Result<backends::SharedBlock> get(std::span<const Tensor* const> sources, const std::string& kind,
                                    const std::function<Result<backends::Block>()>& make) override;
  backends::SharedSlot slot(std::span<const Tensor* const> sources, const std::string& kind) override {
    return prepared_.slot(sources, kind);
  }

  // How many blocks came from the "cache", or were made: "kept", "not_kept" where the folder cannot be
  // written or the block is no matter for it, "mended" for a damaged file.
  std::map<std::string, int> sources() const;

 private:
  Result<backends::Block> find_or_make(std::span<const Tensor* const> sources, const std::string& kind,
                                       const std::function<Result<backends::Block>()>& make);
  void count(const char* source);

  PreparedConstants& prepared_;
  const WeightsCache cache_;
  mutable std::mutex mutex_;
  std::map<std::string, int> sources_;
};

}  // namespace walle::runtime
