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

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

wvm_value text(wvm_kind kind, const std::string& data) {
  wvm_value out{static_cast<uint64_t>(kind), data.size(), {}};
  out.as.text = data.data();
  return out;
}

wvm_value integer(wvm_kind kind, int64_t number) {
  wvm_value out{static_cast<uint64_t>(kind), 0, {}};
  out.as.integer = number;
  return out;
}

wvm_value real(double number) {
  wvm_value out{WVM_FLOAT, 0, {}};
  out.as.real = number;
  return out;
}

}  // namespace

wvm_tensor* lend(Tensor tensor) {
  auto* out = new (std::nothrow) Lent{{}, 1, std::move(tensor)};
  if (out == nullptr) return nullptr;
  out->base.retain = retain;
  out->base.release = release;
  out->base.data = out->tensor.mutable_data();
  out->base.bytes = out->tensor.bytes();
  out->base.rank = static_cast<uint8_t>(out->tensor.shape().rank());
  out->base.dtype = static_cast<uint8_t>(out->tensor.dtype());
  out->base.read_only = !out->tensor.buffer().writable();
  for (int i = 0; i < out->base.rank; ++i) out->base.shape[i] = out->tensor.shape()[i];
  return &out->base;
}

wvm_value Outgoing::share(wvm_kind kind, Tensor tensor) {
  wvm_value out{static_cast<uint64_t>(kind), 0, {}};
  out.as.tensor = lend(std::move(tensor));
  if (out.as.tensor == nullptr) return integer(WVM_NONE, 0);
  tensors_.push_back(out.as.tensor);
  return out;
}

Outgoing::~Outgoing() {
  for (wvm_tensor* tensor : tensors_) tensor->release(tensor);
}

wvm_value Outgoing::keep(wvm_kind kind, size_t size, std::vector<wvm_value> items) {
  wvm_value out{static_cast<uint64_t>(kind), size, {}};
  out.as.items = items_.emplace_back(std::move(items)).data();
  return out;
}

wvm_value Outgoing::map(const Map& map) {
  std::vector<wvm_value> items;
  items.reserve(2 * map.size());
  for (const auto& [key, value] : map) {
    items.push_back(text(WVM_STR, key));
    items.push_back(convert(value));
  }
  return keep(WVM_MAP, map.size(), std::move(items));
}

wvm_value Outgoing::convert(const Value& value) {
  return std::visit(Overloaded{
                        [](std::monostate) { return integer(WVM_NONE, 0); },
                        [](bool v) { return integer(WVM_BOOL, v); },
                        [](int64_t v) { return integer(WVM_INT, v); },
                        [](double v) { return real(v); },
                        [](const std::string& v) { return text(WVM_STR, v); },
                        [](const Bytes& v) { return text(WVM_BYTES, v.data); },
                        [this](const List& v) {
                          std::vector<wvm_value> items;
                          items.reserve(v.size());
                          for (const Value& item : v) items.push_back(convert(item));
                          return keep(WVM_LIST, v.size(), std::move(items));
                        },
                        [this](const Map& v) { return map(v); },
                        [this](const Tensor& v) { return share(WVM_TENSOR, v); },
                        [this](const Buffer& v) {
                          const int64_t bytes = static_cast<int64_t>(v.size());
                          return share(WVM_BUFFER, Tensor(DType::uint8, Shape(std::span(&bytes, 1)), v));
                        },
                    },
                    value.data);
}

namespace {
// The bytes of a tensor, whatever its element type; keeps its memory alive.
Buffer whole_buffer(const Tensor& tensor) {
  if (tensor.byte_offset() == 0 && tensor.buffer().size() == static_cast<size_t>(tensor.bytes()))
    return tensor.buffer();
  return Buffer::window(std::make_shared<Tensor>(tensor), tensor.data(), static_cast<size_t>(tensor.bytes()));
}
}  // namespace

Value incoming(const wvm_value& value) {
  switch (value.kind) {
    case WVM_BOOL: return value.as.integer != 0;
    case WVM_INT: return value.as.integer;
    case WVM_FLOAT: return value.as.real;
    case WVM_STR: return std::string(value.as.text, value.size);
    case WVM_BYTES: return Bytes{std::string(value.as.text, value.size)};
    case WVM_LIST: {
      List list;
      list.reserve(value.size);
      for (uint64_t i = 0; i < value.size; ++i) list.push_back(incoming(value.as.items[i]));
      return list;
    }
    case WVM_MAP: {
      Map map;
      map.reserve(value.size);
      for (uint64_t i = 0; i < value.size; ++i) {
        const wvm_value& key = value.as.items[2 * i];
        map.emplace_back(std::string(key.as.text, key.size), incoming(value.as.items[2 * i + 1]));
      }
      return map;
    }
    case WVM_TENSOR: return lent(value.as.tensor)->tensor;
    case WVM_BUFFER: return whole_buffer(lent(value.as.tensor)->tensor);
    default: return {};
  }
}

Outcome incoming(const wvm_result& result) {
  Outcome out;
  if (result.ok) {
    out.value = incoming(result.value);
    return out;
  }
  Failure& failure = out.failure.emplace();
  failure.type = result.type ? result.type : "";
  failure.message = result.message ? result.message : "";
  failure.reason = static_cast<Reason>(result.reason);
  for (size_t i = 0; i < result.frame_count; ++i) {
    failure.traceback.push_back({result.frames[i].file, result.frames[i].function, result.frames[i].line});
  }
  return out;
}

}  // namespace walle::vm
