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

  wvm_value convert(const Value& value);

 private:
  wvm_value map(const Map& map);
  wvm_value share(wvm_kind kind, Tensor tensor);
  wvm_value keep(wvm_kind kind, size_t size, std::vector<wvm_value> items);

  std::vector<std::vector<wvm_value>> items_;  // growing moves the vectors, not their elements
  std::vector<wvm_tensor*> tensors_;
};

// A new boundary tensor with one reference; never nullptr except when memory is short.
wvm_tensor* lend(Tensor tensor);
Value incoming(const wvm_value& value);
Outcome incoming(const wvm_result& result);

}  // namespace walle::vm
