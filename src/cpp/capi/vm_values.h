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

// A value and everything that its plain form points to.
class PlainValue {
 public:
  explicit PlainValue(vm::Value value) : value_(std::move(value)), plain_(convert(value_)) {}
  PlainValue(const PlainValue&) = delete;
  PlainValue& operator=(const PlainValue&) = delete;

  const walle_vm_value_t& plain() const { return plain_; }

 private:
  walle_vm_value_t convert(const vm::Value& value);
  walle_vm_value_t items(walle_vm_kind_t kind, size_t size, std::vector<walle_vm_value_t> list);
  walle_vm_buffer_t* keep(Buffer buffer);
  const walle_vm_tensor_t* tensor(const Tensor& tensor);

  vm::Value value_;
  std::vector<std::vector<walle_vm_value_t>> lists_;
  std::vector<std::unique_ptr<walle_vm_buffer_t>> buffers_;
  std::vector<std::unique_ptr<walle_vm_tensor_t>> tensors_;
  walle_vm_value_t plain_;
};

}  // namespace walle::capi
