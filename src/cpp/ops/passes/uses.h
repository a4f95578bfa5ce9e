// Who computes and who reads each value of a program. A snapshot: valid until nodes are moved or rewired.
#pragma once

#include <vector>

#include "ops/program.h"

namespace walle::ops {

class Uses {
 public:
  explicit Uses(const Program& program);

  // Indices of the nodes that read r (a node that reads it twice counts twice).
  const std::vector<int>& readers(Ref r) const { return readers_[r]; }
  int producer(Ref r) const { return r < 0 ? -1 : producer_[r]; }  // -1: an input or constant
  bool is_output(Ref r) const { return output_[r]; }
  // Read by exactly one operand, and not a result of the program.
  bool private_to_one(Ref r) const { return readers(r).size() == 1 && !is_output(r); }

 private:
  std::vector<std::vector<int>> readers_;
  std::vector<int> producer_;
  std::vector<bool> output_;
};

}  // namespace walle::ops
