// What cost functions share: the bytes an operator touches
// when it reads every operand and writes every result once.
#pragma once

#include "ir/infer.h"

namespace walle::ops {

inline double bytes_of(const Shape& shape, DType dtype) {
  return static_cast<double>(shape.elements() * dtype_size(dtype));
}

inline double bytes_of(std::span<const ir::InferInput> in, std::span<const ir::InferOutput> out) {
  double bytes = 0;
  for (const ir::InferInput& i : in)
    if (i.present) bytes += bytes_of(i.shape, i.dtype);
  for (const ir::InferOutput& o : out) bytes += bytes_of(o.shape, o.dtype);
  return bytes;
}

}  // namespace walle::ops
