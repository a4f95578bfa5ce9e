#include "vm/convert.h"

#include <atomic>
#include <new>

namespace walle::vm {

namespace {

// The boundary's view of a Tensor: both sides count on `references`, the Tensor inside keeps the bytes.
struct Lent {
  wvm_tensor base;  // first: the boundary's pointer is a pointer to this struct
  std::atomic<int64_t> references;
  Tensor tensor;
};

Lent* lent(wvm_tensor* tensor) { return reinterpret_cast<Lent*>(tensor); }

void retain(wvm_tensor* tensor) { lent(tensor)->references.fetch_add(1, std::memory_order_relaxed); }

void release(wvm_tensor* tensor) {
  if (lent(tensor)->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete lent(tensor);
}

// A copy that owns itself.
struct ValueBuilder {
  Value none() { return {}; }
  Value boolean(bool v) { return v; }
  Value integer(int64_t v) { return v; }
  Value real(double v) { return v; }
  Value text(std::string_view v) { return std::string(v); }
  Value bytes(std::string_view v) { return Bytes{std::string(v)}; }
  Value list(std::span<const wvm_value> items) {
    List list;
    list.reserve(items.size());
    for (const wvm_value& item : items) list.push_back(visit(item, *this));
    return list;
  }
  Value map(const auto& entries) {
    Map map;
    map.reserve(std::ranges::size(entries));
    for (const auto& [key, item] : entries) map.emplace_back(key, visit(item, *this));
    return map;
  }
  Value tensor(const Tensor& v) { return v; }
  Value buffer(const Buffer& v) { return v; }
};

}  // namespace

wvm_tensor* lend(Tensor tensor) {
  // Called by C code inside a task, through which nothing may be thrown.
  auto* out = new (std::nothrow) Lent{{}, 1, std::move(tensor)};
  if (out == nullptr) return nullptr;
  const Shape& shape = out->tensor.shape();
  out->base = {.retain = retain,
               .release = release,
               .data = out->tensor.mutable_data(),
               .bytes = out->tensor.bytes(),
               .shape = {},
               .rank = static_cast<uint8_t>(shape.rank()),
               .dtype = static_cast<uint8_t>(out->tensor.dtype()),
               .read_only = !out->tensor.buffer().writable()};
  std::ranges::copy(shape, out->base.shape);
  return &out->base;
}

const Tensor& tensor_of(const wvm_tensor* lent) { return reinterpret_cast<const Lent*>(lent)->tensor; }

Buffer bytes_of(const wvm_tensor* lent) {
  const Tensor& tensor = tensor_of(lent);
  const auto size = static_cast<size_t>(tensor.bytes());
  // The buffer itself where it can be, so that bytes which only pass through a task come back as they were.
  if (tensor.byte_offset() == 0 && tensor.buffer().size() == size) return tensor.buffer();
  return Buffer::window(std::make_shared<Tensor>(tensor), tensor.data(), size);
}

BoundaryBuilder::Owned::~Owned() {
  for (wvm_tensor* tensor : tensors) tensor->release(tensor);
}

BoundaryBuilder::Owned& BoundaryBuilder::owned() {
  if (owned_ == nullptr) owned_ = std::make_unique<Owned>();
  return *owned_;
}

wvm_value BoundaryBuilder::keep(wvm_kind kind, size_t size, std::vector<wvm_value> items) {
  return {.kind = static_cast<uint64_t>(kind),
          .size = size,
          .as = {.items = owned().items.emplace_back(std::move(items)).data()}};
}

wvm_value BoundaryBuilder::share(wvm_kind kind, Tensor tensor) {
  wvm_tensor* shared = lend(std::move(tensor));
  if (shared == nullptr) return none();
  owned().tensors.push_back(shared);
  return {.kind = static_cast<uint64_t>(kind), .size = 0, .as = {.tensor = shared}};
}

wvm_value BoundaryBuilder::list(const List& list) {
  std::vector<wvm_value> items;
  items.reserve(list.size());
  for (const Value& item : list) items.push_back(visit(item, *this));
  return keep(WVM_LIST, list.size(), std::move(items));
}

wvm_value BoundaryBuilder::map(const Map& map) {
  std::vector<wvm_value> items;
  items.reserve(2 * map.size());
  for (const auto& [key, item] : map) {
    items.push_back(text(key));
    items.push_back(visit(item, *this));
  }
  return keep(WVM_MAP, map.size(), std::move(items));
}

wvm_value BoundaryBuilder::buffer(const Buffer& buffer) {
  const auto bytes = static_cast<int64_t>(buffer.size());
  return share(WVM_BUFFER, Tensor(DType::uint8, Shape(std::span(&bytes, 1)), buffer));
}

Value incoming(const wvm_value& value) {
  ValueBuilder values;
  return visit(value, values);
}

namespace {

Failure failure_of(const wvm_failure& plain) {
  Failure failure;
  failure.type = plain.type ? plain.type : "";
  failure.message = plain.message ? plain.message : "";
  failure.relation = static_cast<Relation>(plain.relation);
  for (const wvm_frame& frame : std::span(plain.frames, plain.frame_count))
    failure.traceback.push_back({.file = frame.file, .function = frame.function, .line = frame.line});
  for (const char* note : std::span(plain.notes, plain.note_count)) failure.notes.emplace_back(note);
  for (const wvm_failure& other : std::span(plain.related, plain.related_count))
    failure.related.push_back(failure_of(other));
  return failure;
}

}  // namespace

Outcome incoming(const wvm_result& result) {
  Outcome out;
  if (result.ok) {
    out.value = incoming(result.value);
    return out;
  }
  out.failure = failure_of(result.failure);
  out.failure->reason = static_cast<Reason>(result.reason);
  return out;
}

}  // namespace walle::vm
