// Values of walle/vm.h to vm::Value and back.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "vm/value.h"
#include "walle/vm.h"

struct walle_vm_buffer_t {
  walle::Buffer buffer;
};

namespace walle::capi {

// A checked copy; tensors and buffers share their memory.
Result<vm::Value> read_value(const walle_vm_value_t& value, int depth = 0);

// A value and everything that its plain form points to. Its members are those of a visitor of vm::visit.
class PlainValue {
 public:
  explicit PlainValue(vm::Value value) : value_(std::move(value)), plain_(visit(value_, *this)) {}
  PlainValue(const PlainValue&) = delete;
  PlainValue& operator=(const PlainValue&) = delete;

  const walle_vm_value_t& plain() const { return plain_; }

  walle_vm_value_t none() { return {.kind = WALLE_KIND_NONE, .size = 0, .as = {}}; }
  walle_vm_value_t boolean(bool v) { return {.kind = WALLE_KIND_BOOL, .size = 0, .as = {.integer = v}}; }
  walle_vm_value_t integer(int64_t v) { return {.kind = WALLE_KIND_INT, .size = 0, .as = {.integer = v}}; }
  walle_vm_value_t real(double v) { return {.kind = WALLE_KIND_FLOAT, .size = 0, .as = {.real = v}}; }
  // Of std::strings: what lies behind them is the zero that the header promises.
  walle_vm_value_t text(std::string_view v) {
    return {.kind = WALLE_KIND_STR, .size = v.size(), .as = {.text = v.data()}};
  }
  walle_vm_value_t bytes(std::string_view v) {
    return {.kind = WALLE_KIND_BYTES, .size = v.size(), .as = {.text = v.data()}};
  }
  walle_vm_value_t list(const vm::List& list);
  walle_vm_value_t map(const vm::Map& map);
  walle_vm_value_t tensor(const Tensor& tensor);
  walle_vm_value_t buffer(const Buffer& buffer);

 private:
  walle_vm_value_t items(walle_vm_kind_t kind, size_t size, std::vector<walle_vm_value_t> list);
  walle_vm_buffer_t* keep(Buffer buffer);

  vm::Value value_;
  std::vector<std::vector<walle_vm_value_t>> lists_;
  std::vector<std::unique_ptr<walle_vm_buffer_t>> buffers_;
  std::vector<std::unique_ptr<walle_vm_tensor_t>> tensors_;
  walle_vm_value_t plain_;  // last: made of all the others
};

}  // namespace walle::capi
