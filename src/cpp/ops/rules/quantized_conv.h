// The operands of QuantizedConv (composite/quantized_conv.cc), for whoever makes or runs one.
#pragma once

namespace walle::ops {

// The first nine are those of QLinearConv.
struct QuantizedConvInput {
  enum Operand : int {
    kX,
    kXScale,
    kXZero,
    kW,
    kWScale,
    kWZero,
    kYScale,
    kYZero,
    kBias,
    kOther,  // codes that are added, their scale and zero point, those of the sum; together or not at all
    kOtherScale,
    kOtherZero,
    kSumScale,
    kSumZero,
    kCount
  };
};

}  // namespace walle::ops
