// HandleCount: how many handles of each tensor's bytes the stores of a model hold themselves, to find those
// that nobody else does.
#pragma once

#include <unordered_map>

#include "tensor/tensor.h"

namespace walle::runtime {

class HandleCount {
 public:
  void add(const Tensor& tensor) { ++held_[tensor.buffer().address()]; }
  // Whether a plan, a graph or a caller holds these bytes too.
  bool held_elsewhere(const Tensor& tensor) const {
    const auto found = held_.find(tensor.buffer().address());
    return tensor.buffer().handles() > (found == held_.end() ? 0 : found->second);
  }

 private:
  std::unordered_map<const std::byte*, long> held_;
};

}  // namespace walle::runtime
