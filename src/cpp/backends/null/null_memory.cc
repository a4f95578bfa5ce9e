#include "backends/null/null_memory.h"

#include <array>
#include <cstring>
#include <mutex>

#include "base/checked.h"
#include "base/limits.h"

namespace walle::backends::null {

namespace {
// No user address has these bits: x86-64 and arm64 hand out at most 2^56 bytes, and the second byte is set,
// which arm64 does not ignore as it does the first (Android keeps tags there).
constexpr uint64_t kTag = 0xDEAD'0000'0000'0000;
constexpr uint64_t kNumbers = uint64_t{1} << 48;
constexpr int64_t kGap = 4096;  // farther than a kernel's loop overshoots by mistake

// Alternating NaN and 3.4e38 for float32, which neither a comparison nor a minimum swallows both; as one
// int64 or float64 it is huge.
constexpr std::array<uint8_t, 8> kPoison{0xFF, 0xFF, 0xFF, 0xFF, 0x7F, 0x7F, 0x7F, 0x7F};
}  // namespace

void poison(std::byte* bytes, int64_t count) {
  const auto size = static_cast<size_t>(count);
  size_t at = 0;
  for (; at + kPoison.size() <= size; at += kPoison.size())
    std::memcpy(bytes + at, kPoison.data(), kPoison.size());
  std::memcpy(bytes + at, kPoison.data(), size - at);
}

Result<Handle> NullMemory::allocate(int64_t bytes) {
  if (bytes < 0 || bytes > base::kMaxArenaBytes)
    return resource_error({bytes, " bytes of null memory"}, {"at most ", base::kMaxArenaBytes}, "allocate",
                          "use smaller inputs");
  const int64_t size = base::round_up(bytes > 0 ? bytes : 1, base::kSegmentAlignment);
  WALLE_ASSIGN(Buffer buffer, Buffer::allocate(size));
  poison(buffer.data(), size);
  const std::unique_lock lock(mutex_);
  // Numbers are used up and never given out again; 2^48 of them last for weeks of tests.
  const auto span = static_cast<uint64_t>(base::round_up(size + kGap, kGap));
  if (next_ + span > kNumbers)
    return resource_error("2^48 bytes of null memory in one process", "fewer", "allocate",
                          "start a new process");
  const uint64_t at = kTag + next_;
  next_ += span;
  blocks_.emplace(at, std::move(buffer));
  return handle(at);
}

void NullMemory::free(Handle block) {
  const std::unique_lock lock(mutex_);
  blocks_.erase(number(block));
}

Result<std::byte*> NullMemory::open(Handle h, int64_t bytes) const {
  if (h.memory() != this)
    return internal_error({"a handle of ", h ? Text{h.memory()->name(), " memory"} : Text("no memory")},
                          "null memory");
  const std::shared_lock lock(mutex_);
  auto block = blocks_.upper_bound(number(h));  // the first behind h: the one before it may hold h
  if (block != blocks_.begin()) {
    --block;
    const uint64_t offset = number(h) - block->first;
    const uint64_t size = block->second.size();
    if (bytes >= 0 && offset <= size && static_cast<uint64_t>(bytes) <= size - offset)
      return block->second.data() + offset;
  }
  return internal_error({bytes, " bytes that are not all inside one living block"}, "null memory");
}

Status NullMemory::copy_in(Handle to, const void* from, int64_t bytes) {
  WALLE_ASSIGN(std::byte * at, open(to, bytes));
  if (!from) return internal_error("a copy from memory that is not the host's", "null memory");
  std::memcpy(at, from, bytes);
  return {};
}

Status NullMemory::copy_out(void* to, Handle from, int64_t bytes) {
  WALLE_ASSIGN(const std::byte* at, open(from, bytes));
  if (!to) return internal_error("a copy to memory that is not the host's", "null memory");
  std::memcpy(to, at, bytes);
  return {};
}

Status NullMemory::bring_across(Handle to, Handle from, DType dtype, const Shape& shape, int /*threads*/) {
  const bool given = to.memory() && from.memory() && to.memory() != from.memory();
  if (!given || to.memory()->name() != name() || from.memory()->name() != name())
    return internal_error("a copy across that is not between two null memories", "null memory");
  const int64_t bytes = bytes_of(dtype, shape);
  WALLE_ASSIGN(std::byte * target, static_cast<const NullMemory*>(to.memory())->open(to, bytes));
  WALLE_ASSIGN(const std::byte* source, static_cast<const NullMemory*>(from.memory())->open(from, bytes));
  std::memcpy(target, source, bytes);
  return {};
}

Status NullMemory::copy_within(Handle to, Handle from, int64_t bytes) {
  WALLE_ASSIGN(std::byte * target, open(to, bytes));
  WALLE_ASSIGN(const std::byte* source, open(from, bytes));
  std::memmove(target, source, bytes);
  return {};
}

void NullMemory::discard(Handle block, int64_t bytes) {
  if (auto at = open(block, bytes); at.ok()) poison(*at, bytes);
}

}  // namespace walle::backends::null
