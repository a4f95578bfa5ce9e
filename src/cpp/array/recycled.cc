#include "array/recycled.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <vector>

#include "base/memory.h"

namespace walle::array {

namespace {

constexpr size_t kLine = 64;  // what base/memory.h rounds sizes to
constexpr size_t kSmall = size_t{4} << 10;
constexpr size_t kSmallKept = 32;  // blocks of each small size: 4 MB in all at most
// Beyond, a copy costs so much that page faults do not count.
constexpr size_t kLargest = size_t{4} << 20;
constexpr size_t kLargeKept = size_t{8} << 20;  // bytes, in the whole process
constexpr size_t kLargeBlocks = 64;             // searched one by one

struct Block {
  size_t size;
  void* data;
};

// What was freed lately. Never destroyed: results may outlive every static object.
class Recycler {
 public:
  static Recycler& instance() {
    static auto* recycler = new Recycler;
    return *recycler;
  }

  void* take(size_t size) {
    const std::lock_guard guard(lock_);
    if (size <= kSmall) {
      std::vector<void*>& blocks = small_[size / kLine];
      if (blocks.empty()) return base::aligned_allocate(size);
      void* data = blocks.back();
      blocks.pop_back();
      return data;
    }
    const auto found =
        std::find_if(large_.rbegin(), large_.rend(), [&](const Block& block) { return block.size == size; });
    if (found == large_.rend()) return base::aligned_allocate(size);
    void* data = found->data;
    kept_ -= size;
    large_.erase(std::next(found).base());
    return data;
  }

  void put(size_t size, void* data) {
    const std::lock_guard guard(lock_);
    if (size <= kSmall) {
      std::vector<void*>& blocks = small_[size / kLine];
      if (blocks.size() < kSmallKept)
        blocks.push_back(data);
      else
        base::aligned_free(data);
      return;
    }
    large_.push_back({size, data});
    kept_ += size;
    while (kept_ > kLargeKept || large_.size() > kLargeBlocks) {
      kept_ -= large_.front().size;
      base::aligned_free(large_.front().data);
      large_.erase(large_.begin());
    }
  }

 private:
  std::mutex lock_;
  std::array<std::vector<void*>, kSmall / kLine + 1> small_;
  std::vector<Block> large_;  // oldest first
  size_t kept_ = 0;
};

}  // namespace

Result<Buffer> eager_buffer(size_t bytes) {
  if (bytes > kLargest) return Buffer::allocate(bytes);
  const size_t size = (bytes + kLine - 1) / kLine * kLine;
  void* data = Recycler::instance().take(size);
  if (data == nullptr) return Buffer::allocate(bytes);  // says what is missing
  return Buffer::wrap(data, bytes, [data, size] { Recycler::instance().put(size, data); }, true);
}

}  // namespace walle::array
