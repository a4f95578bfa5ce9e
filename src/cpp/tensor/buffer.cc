#include "tensor/buffer.h"

#include <cstring>
#include <mutex>
#include <new>

#include "base/memory.h"
#include "tensor/widen.h"

namespace walle::tensor {

Result<Buffer> Buffer::allocate(size_t bytes) {
  void* block = base::aligned_allocate(bytes);
  if (!block)
    return resource_error({"request for ", bytes, " bytes of tensor memory was refused"},
                          "enough free memory", "allocate",
                          "use a smaller input or batch, or close other sessions")
        .of_kind(base::ErrorKind::no_memory);
  Buffer out;
  out.owner_ =
      std::shared_ptr<const void>(block, [](const void* p) { base::aligned_free(const_cast<void*>(p)); });
  out.data_ = static_cast<std::byte*>(block);
  out.size_ = bytes;
  out.writable_ = true;
  return out;
}

Buffer Buffer::wrap(void* data, size_t bytes, std::function<void()> release, bool writable) {
  Buffer out;
  // `release` may be empty: memory that outlives every tensor, such as a static table.
  out.owner_ = std::shared_ptr<const void>(data, [release = std::move(release)](const void*) {
    if (release) release();
  });
  out.data_ = static_cast<std::byte*>(data);
  out.size_ = bytes;
  out.writable_ = writable;
  return out;
}

Buffer Buffer::window(std::shared_ptr<const void> owner, const void* data, size_t bytes) {
  // Not writable: the owner may be a mapped file, where a store would be a segmentation fault, or another
  // tensor's bytes.
  Buffer out;
  out.owner_ = std::move(owner);
  out.data_ = static_cast<std::byte*>(const_cast<void*>(data));
  out.size_ = bytes;
  return out;
}

Buffer Buffer::of_file(std::shared_ptr<const base::MappedFile> file) {
  const auto bytes = file->bytes();
  const base::MappedFile* const of = file.get();
  Buffer out = window(std::move(file), bytes.data(), bytes.size());
  out.file_ = of;
  return out;
}

struct Buffer::LateCopy {
  explicit LateCopy(Buffer from) : window(std::move(from)) {}

  Buffer window;
  DType widened_from = DType::undefined;
  size_t offset = 0;  // of the narrow elements in the window
  std::once_flag once;
  Buffer copy;
};

Buffer Buffer::aligned_late(const Buffer& window) {
  auto late = std::make_shared<LateCopy>(window);
  Buffer out = window;
  out.late_ = late.get();
  out.owner_ = std::move(late);
  return out;
}

Buffer Buffer::widened_late(const Buffer& halves, size_t offset, size_t elements, DType from) {
  auto late = std::make_shared<LateCopy>(halves);
  late->widened_from = from;
  late->offset = offset;
  Buffer out;
  out.late_ = late.get();
  // An address of its own: of the narrow bytes it would say that both are the same.
  out.data_ = reinterpret_cast<std::byte*>(late.get());
  out.size_ = elements * sizeof(float);
  out.owner_ = std::move(late);
  return out;
}

DType Buffer::widened_from() const { return late_ ? late_->widened_from : DType::undefined; }
Buffer Buffer::narrow() const { return late_ ? late_->window : Buffer(); }
size_t Buffer::narrow_offset() const { return late_ ? late_->offset : 0; }

// Memory that is refused is thrown, as by a container: data() has no other way to say so.
std::byte* Buffer::copied() const {
  std::call_once(late_->once, [this] {
    const Buffer& window = late_->window;
    auto made = allocate(size_);
    if (!made.ok()) throw std::bad_alloc();
    late_->copy = std::move(*made);
    if (late_->widened_from == DType::undefined)
      std::memcpy(late_->copy.data(), window.address(), window.size());
    else
      widen(late_->widened_from, window.address() + late_->offset,
            reinterpret_cast<float*>(late_->copy.data()), static_cast<int64_t>(size_ / sizeof(float)));
    window.drop(0, window.size());
  });
  return late_->copy.data();
}

Buffer Buffer::part(size_t offset, size_t bytes) const {
  Buffer out = *this;
  out.data_ = data();
  out.late_ = nullptr;  // the copy, which the owner holds
  if (late_) out.file_ = nullptr;
  out.data_ += offset;
  out.size_ = bytes;
  return out;
}

}  // namespace walle::tensor
