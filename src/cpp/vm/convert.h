// Values to and from the plain structures of the boundary (abi.h).
#pragma once

#include <vector>

#include "vm/abi.h"
#include "vm/outcome.h"

namespace walle::vm {

// Owns what boundary values point to besides the Values themselves, which must outlive it.
class Outgoing {
 public:
  Outgoing() = default;
  Outgoing(const Outgoing&) = delete;
  Outgoing& operator=(const Outgoing&) = delete;
  ~Outgoing();

  walle_vm_value convert(const Value& value);

 private:
  walle_vm_value map(const Map& map);
  walle_vm_value share(walle_vm_kind kind, Tensor tensor);
  walle_vm_value keep(walle_vm_kind kind, size_t size, std::vector<walle_vm_value> items);

  std::vector<std::vector<walle_vm_value>> items_;  // growing moves the vectors, not their elements
  std::vector<walle_vm_tensor*> tensors_;
};

// A new boundary tensor with one reference; never nullptr except when memory is short.
walle_vm_tensor* lend(Tensor tensor);
Value incoming(const walle_vm_value& value);
Outcome incoming(const walle_vm_result& result);

}  // namespace walle::vm
