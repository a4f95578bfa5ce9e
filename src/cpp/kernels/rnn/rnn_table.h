// What rnn_simd.cc exports per instruction set: the element-wise part of one recurrent step for one batch
// row. Plain data and function pointers: shared by files of different flags.
#pragma once

#include <cstdint>

#include "tensor/kinds.h"

namespace walle::kernels {

// Gates lie side by side, `hidden` elements each, in the order of ONNX (GRU: z, r, h; LSTM: i, o, f, c).
struct RnnRow {
  int64_t hidden = 0;
  const float* x = nullptr;         // input projection, biases included
  float* s = nullptr;               // recurrent product; scratch
  const float* peephole = nullptr;  // LSTM: i, o, f; may be null
  float* h = nullptr;               // state, replaced
  float* cell = nullptr;            // LSTM
  float* reset = nullptr;           // GRU: r * h goes here
  RnnActivation f, g, last;
  float clip = 0;  // 0: none
  bool input_forget = false;
};

struct RnnTable {
  void (*rnn)(const RnnRow& row);  // h = f(x + s)
  void (*lstm)(const RnnRow& row);
  void (*gru_linear)(const RnnRow& row);  // reset after the product: h from z, r, g(x + r * s)
  void (*gru_gates)(const RnnRow& row);   // reset before it: z stays in s, reset = r * h
  void (*gru_finish)(const RnnRow& row);  // h from z and g(x + s)
};

}  // namespace walle::kernels
