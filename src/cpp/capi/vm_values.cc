#include "capi/vm_values.h"

#include <algorithm>
#include <string_view>

namespace walle::capi {

namespace {

// As deep as the VM reads values itself; a caller's cyclic or deep list must not exhaust the
// stack of this walk.
constexpr int kMaxDepth = 64;
// A count that was never set is mostly huge: refused before anything is read, and 2 * size cannot overflow.
constexpr size_t kMaxItems = size_t{1} << 28;

Error wrong(Text given, Text expected) {
  return argument_error(given, expected, "walle_vm_call, an argument",
                        "fill in the value as walle/vm.h says");
}

Result<Tensor> read_tensor(const walle_vm_tensor_t* given) {
  if (!given || !given->buffer)
    return wrong("a tensor or buffer that is NULL", "a walle_vm_tensor_t with a buffer");
  if (given->dtype <= WALLE_UNDEFINED || given->dtype >= tensor::kDTypeCount)
    return wrong({"dtype ", given->dtype}, "a walle_dtype_t");
  if (given->rank < 0 || given->rank > WALLE_MAX_RANK)
    return wrong({"rank ", given->rank}, {"0..", WALLE_MAX_RANK});
  const auto dtype = static_cast<DType>(given->dtype);
  WALLE_ASSIGN(const Shape shape, Shape::checked({given->shape, static_cast<size_t>(given->rank)},
                                                 dtype_size(dtype), "walle_vm_call, a tensor"));
  const size_t need = shape.elements() * dtype_size(dtype);  // Shape::checked bounds it
  const Buffer& buffer = given->buffer->buffer;
  if (need > buffer.size())
    return wrong({"a buffer of ", buffer.size(), " bytes"},
                 {need, " bytes for ", dtype_name(dtype), shape.text()});
  const auto alignment = static_cast<uintptr_t>(tensor::dtype_alignment(dtype));
  if (need && reinterpret_cast<uintptr_t>(buffer.data()) % alignment != 0)
    return wrong("a buffer that is not aligned to its element size", "aligned memory");
  return Tensor(dtype, shape, buffer);
}

Result<vm::Value> read_list(const walle_vm_value_t& value, int depth) {
  vm::List list;
  for (size_t i = 0; i < value.size; ++i) {
    WALLE_ASSIGN(list.emplace_back(), read_value(value.as.items[i], depth + 1));
  }
  return vm::Value(std::move(list));
}

Result<vm::Value> read_map(const walle_vm_value_t& value, int depth) {
  vm::Map map;
  for (size_t i = 0; i < value.size; ++i) {
    const walle_vm_value_t& key = value.as.items[2 * i];
    // Task code addresses maps by name, and JSON and the journal know no other keys.
    if (key.kind != WALLE_KIND_STR || (key.size && !key.as.text))
      return wrong({"a map key of kind ", key.kind}, "str keys");
    WALLE_ASSIGN(vm::Value item, read_value(value.as.items[2 * i + 1], depth + 1));
    map.emplace_back(key.size ? std::string(key.as.text, key.size) : std::string(), std::move(item));
  }
  return vm::Value(std::move(map));
}

}  // namespace

Result<vm::Value> read_value(const walle_vm_value_t& value, int depth) {
  if (depth > kMaxDepth)
    return wrong({"a value nested deeper than ", kMaxDepth, " levels"}, "a flatter value");
  // Those whose union member is a pointer with a size; one look at `text` serves all, they share its place.
  const bool sized = value.kind >= WALLE_KIND_STR && value.kind <= WALLE_KIND_MAP;
  if (sized && value.size && !value.as.text)
    return wrong("a value that points to NULL", "its content, or size 0");
  if (sized && value.kind >= WALLE_KIND_LIST && value.size > kMaxItems)
    return wrong({value.size, " items"}, "fewer");
  const std::string_view text =
      sized && value.size ? std::string_view(value.as.text, value.size) : std::string_view();
  switch (value.kind) {
    case WALLE_KIND_NONE: return vm::Value();
    case WALLE_KIND_BOOL: return vm::Value(value.as.integer != 0);
    case WALLE_KIND_INT: return vm::Value(value.as.integer);
    case WALLE_KIND_FLOAT: return vm::Value(value.as.real);
    case WALLE_KIND_STR: return vm::Value(std::string(text));
    case WALLE_KIND_BYTES: return vm::Value(vm::Bytes{std::string(text)});
    case WALLE_KIND_LIST: return read_list(value, depth);
    case WALLE_KIND_MAP: return read_map(value, depth);
    case WALLE_KIND_BUFFER:
      if (!value.as.buffer) return wrong("a buffer that is NULL", "a walle_vm_buffer_t");
      return vm::Value(value.as.buffer->buffer);
    case WALLE_KIND_TENSOR: {
      WALLE_ASSIGN(Tensor tensor, read_tensor(value.as.tensor));
      return vm::Value(std::move(tensor));
    }
  }
  return wrong({"a value of kind ", value.kind}, "a walle_vm_kind_t");
}

walle_vm_value_t PlainValue::items(walle_vm_kind_t kind, size_t size, std::vector<walle_vm_value_t> list) {
  return {.kind = kind, .size = size, .as = {.items = lists_.emplace_back(std::move(list)).data()}};
}

walle_vm_buffer_t* PlainValue::keep(Buffer buffer) {
  return buffers_.emplace_back(new walle_vm_buffer_t{std::move(buffer)}).get();
}

walle_vm_value_t PlainValue::list(const vm::List& list) {
  std::vector<walle_vm_value_t> plain;
  plain.reserve(list.size());
  for (const vm::Value& item : list) plain.push_back(visit(item, *this));
  return items(WALLE_KIND_LIST, list.size(), std::move(plain));
}

walle_vm_value_t PlainValue::map(const vm::Map& map) {
  std::vector<walle_vm_value_t> plain;
  plain.reserve(2 * map.size());
  for (const auto& [key, item] : map) {
    plain.push_back(text(key));
    plain.push_back(visit(item, *this));
  }
  return items(WALLE_KIND_MAP, map.size(), std::move(plain));
}

walle_vm_value_t PlainValue::tensor(const Tensor& tensor) {
  // The plain form has no offset: it begins at its buffer's first byte.
  const int64_t size = tensor.bytes();
  Buffer buffer = tensor.byte_offset() == 0
                      ? tensor.buffer()
                      : Buffer::window(std::make_shared<Tensor>(tensor), tensor.data(), size);
  auto plain = std::make_unique<walle_vm_tensor_t>();
  plain->dtype = static_cast<walle_dtype_t>(tensor.dtype());
  plain->rank = tensor.shape().rank();
  std::ranges::copy(tensor.shape(), plain->shape);
  plain->buffer = keep(std::move(buffer));
  return {
      .kind = WALLE_KIND_TENSOR, .size = 0, .as = {.tensor = tensors_.emplace_back(std::move(plain)).get()}};
}

walle_vm_value_t PlainValue::buffer(const Buffer& buffer) {
  return {.kind = WALLE_KIND_BUFFER, .size = 0, .as = {.buffer = keep(buffer)}};
}

}  // namespace walle::capi
