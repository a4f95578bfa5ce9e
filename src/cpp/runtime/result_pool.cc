#include "runtime/result_pool.h"

#include <algorithm>
#include <atomic>
#include <bit>

namespace walle::runtime {

namespace {
// A session that alternates between a few shapes finds each one's memory again.
constexpr uint64_t kIdleRuns = 8;
// A loop may give more slices than can be searched: those that are held are forgotten then.
constexpr size_t kMaxEntries = 64;
// Blocks below a page may be any multiple of what was asked for.
constexpr size_t kSmall = 4096;

// The next of four steps between two powers of two, so that a size that grows by a little each time meets few
// of them: at most a quarter more than asked for, of which untouched pages take no memory.
size_t stepped(size_t bytes) {
  const size_t step = std::max<size_t>(std::bit_floor(std::max<size_t>(bytes, kSmall)) / 4, 1);
  return (bytes + step - 1) / step * step;
}
}  // namespace

bool ResultPool::fits(const Entry& entry, size_t bytes) {
  const size_t size = entry.buffer.size();
  return size >= bytes && size <= std::max(2 * bytes, kSmall) && entry.buffer.handles() == 1;
}

// entries_.size(): none.
size_t ResultPool::best(size_t bytes) const {
  size_t found = entries_.size();
  for (size_t i = 0; i < entries_.size(); ++i)
    if (fits(entries_[i], bytes) &&
        (found == entries_.size() || entries_[i].buffer.size() < entries_[found].buffer.size()))
      found = i;
  return found;
}

// Frees the smallest of the free blocks that are too small until those left hold no more than `bytes`; true
// where there were any.
bool ResultPool::make_room(size_t bytes) {
  if (entries_.size() >= kMaxEntries)
    std::erase_if(entries_, [&](const Entry& e) { return e.buffer.handles() > 1 || e.run != run_; });
  const auto small = [&](const Entry& e) { return e.buffer.size() < bytes && e.buffer.handles() == 1; };
  size_t held = 0;
  for (const Entry& e : entries_)
    if (small(e)) held += e.buffer.size();
  const bool grows = held > 0;
  while (held > bytes) {
    auto least = entries_.end();
    for (auto e = entries_.begin(); e != entries_.end(); ++e)
      if (small(*e) && (least == entries_.end() || e->buffer.size() < least->buffer.size())) least = e;
    held -= least->buffer.size();
    entries_.erase(least);
  }
  return grows;
}

Status ResultPool::add(size_t bytes) {
  const bool grows = make_room(bytes);
  WALLE_ASSIGN(Buffer block, Buffer::allocate(grows ? stepped(bytes) : bytes));
  entries_.push_back({std::move(block), run_});
  return {};
}

Result<Tensor> ResultPool::lend(DType dtype, const Shape& shape, size_t& hint) {
  WALLE_TRY(Shape::checked(shape.dims(), dtype_size(dtype), "result"));
  const auto bytes = static_cast<size_t>(shape.elements() * dtype_size(dtype));
  if (hint >= entries_.size() || !fits(entries_[hint], bytes)) {
    hint = best(bytes);
    if (hint == entries_.size()) {
      WALLE_TRY(add(bytes));
      hint = entries_.size() - 1;
    }
  }
  // Whoever held it last may have read it on another thread: its reads end before what is written now.
  std::atomic_thread_fence(std::memory_order_acquire);
  Entry& entry = entries_[hint];
  entry.run = run_;
  return Tensor(dtype, shape, entry.buffer.part(0, bytes));
}

bool ResultPool::sole(const Tensor& tensor) const {
  const long handles = tensor.buffer().handles();
  if (handles == 1) return true;
  return handles == 2 &&
         std::ranges::any_of(entries_, [&](const Entry& e) { return e.buffer.shares(tensor.buffer()); });
}

void ResultPool::end_run() {
  std::erase_if(entries_, [&](const Entry& e) {
    if (e.run == run_) return false;
    return e.buffer.handles() > 1 || run_ - e.run > kIdleRuns;
  });
  ++run_;
}

void ResultPool::drop_free() {
  std::erase_if(entries_, [](const Entry& e) { return e.buffer.handles() == 1; });
}

int64_t ResultPool::free_bytes() const {
  int64_t bytes = 0;
  for (const Entry& e : entries_)
    if (e.buffer.handles() == 1) bytes += static_cast<int64_t>(e.buffer.size());
  return bytes;
}

int64_t ResultPool::lent_bytes() const {
  int64_t bytes = 0;
  for (const Entry& e : entries_)
    if (e.buffer.handles() > 1) bytes += static_cast<int64_t>(e.buffer.size());
  return bytes;
}

}  // namespace walle::runtime
