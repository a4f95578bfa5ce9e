// Packed weights on disk (docs/reference/formats/weights-cache.md): one file per packed block, mapped by
// every process that would else make it.
//
// The name of a file is its key: a digest of the bytes a block was made from and of everything that its
// making depends on. A file that is damaged, stale or foreign costs the packing, never a wrong result.
//
// Thread-safe, and safe between processes: files are replaced whole. The folder is bounded (kMostBytes,
// kMostFiles).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/env.h"
#include "base/mapped_file.h"
#include "runtime/weights_digest.h"
#include "tensor/tensor.h"

namespace walle::runtime {

class WeightsCache {
 public:
  // Of all files together. What makes room is left to the names, which are hashes: as good as chance.
  static constexpr int64_t kMostBytes = int64_t{2} << 30;
  static constexpr size_t kMostFiles = 4096;
  // Of one block, both inclusive; a smaller one is no matter for a file of its own.
  static constexpr int64_t kLeastBlockBytes = int64_t{16} << 10;
  static constexpr int64_t kMostBlockBytes = int64_t{1} << 30;
  // Of a file, before the block: a cache line, so that the block is aligned as allocated ones are.
  static constexpr size_t kHeaderBytes = 64;

  struct Limits {
    int64_t bytes = kMostBytes;
    size_t files = kMostFiles;
  };

  // `build` tells builds of the library apart: any of them may pack otherwise.
  WeightsCache(base::Env& env, std::string folder, uint64_t build, Limits limits)
      : env_(env), folder_(std::move(folder)), build_(build), limits_(limits) {}
  WeightsCache(base::Env& env, std::string folder, uint64_t build)
      : WeightsCache(env, std::move(folder), build, Limits{}) {}

  // Of what is made from these tensors under `kind`.
  Digest key_of(std::span<const Tensor* const> sources, const std::string& kind) const;

  enum class Found : uint8_t { nothing, whole, damaged };
  struct Answer {
    Found found = Found::nothing;
    std::shared_ptr<const base::MappedFile> file;  // of Found::whole
    std::span<const std::byte> block;              // in it
  };
  // The file is read once here, to compare its checksum.
  Answer find(const Digest& key) const;
  // False where the block is too small or too large to be kept. A folder that cannot be written is an error
  // that sessions ignore.
  Result<bool> keep(const Digest& key, std::span<const std::byte> block) const;

  std::string path_of(const Digest& key) const;

 private:
  Status make_room(const std::string& own, int64_t bytes) const;

  base::Env& env_;
  std::string folder_;
  uint64_t build_;
  Limits limits_;
};

// The version, and size and time of the file that this code was loaded from; 0 where it cannot be found.
uint64_t build_fingerprint();

}  // namespace walle::runtime
