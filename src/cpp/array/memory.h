// Whose memory and time eager operations take: they ask before they allocate, so that a limit refuses what
// nobody has touched yet, and while they compute what takes longer than reading its operands.
#pragma once

#include "tensor/strided.h"

namespace walle::array {

class Budget {
 public:
  virtual ~Budget() = default;
  virtual bool take(int64_t bytes) = 0;
  virtual void give_back(int64_t bytes) = 0;
  // Whether the operation is to end at once, with whatever error.
  virtual bool must_stop() = 0;
};

// An uninitialised result; its bytes stay taken.
Result<Tensor> allocate(DType dtype, const Shape& shape, Budget& budget);

// What an operation needs for its own time: taken, and given back at the end.
class Scratch {
 public:
  static Result<Scratch> allocate(DType dtype, const Shape& shape, Budget& budget);
  Scratch() = default;
  Scratch(Scratch&& other) noexcept;
  Scratch& operator=(Scratch&& other) noexcept;
  ~Scratch();

  Strided strided();

 private:
  Tensor tensor_;
  Budget* budget_ = nullptr;
};

}  // namespace walle::array
