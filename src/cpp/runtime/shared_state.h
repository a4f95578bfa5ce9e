// What all runners of one session share.
#pragma once

#include <mutex>
#include <unordered_map>

#include "backends/backend.h"
#include "runtime/arena.h"
#include "runtime/options.h"
#include "runtime/profiler.h"

namespace walle::runtime {

// Packed weights, keyed by the bytes they were made from. Each entry keeps its source alive, so an address in
// use as a key cannot be given to another tensor.
class PackedConstants final : public backends::ConstantCache {
 public:
  Result<Buffer> get(const Tensor& source, const std::string& kind,
                     const std::function<Result<Buffer>()>& make) override {
    std::lock_guard lock(mutex_);
    const auto key = std::pair{source.data(), kind};
    if (const auto it = made_.find(key); it != made_.end()) return it->second.packed;
    WALLE_ASSIGN(Buffer packed, make());
    made_.emplace(key, Entry{source, packed});
    return packed;
  }

 private:
  struct Entry {
    Tensor source;  // keeps the key's address taken
    Buffer packed;
  };
  struct Hash {
    size_t operator()(const std::pair<const void*, std::string>& key) const {
      return std::hash<const void*>()(key.first) ^ std::hash<std::string>()(key.second);
    }
  };
  std::mutex mutex_;
  std::unordered_map<std::pair<const void*, std::string>, Entry, Hash> made_;
};

struct SharedState {
  SessionOptions options;
  std::vector<const backends::Backend*> backends;
  backends::ConstantCache* constants = nullptr;
  Arena arena;
  Profiler* profiler = nullptr;
  int depth = 0;  // of nested bodies
};

}  // namespace walle::runtime
