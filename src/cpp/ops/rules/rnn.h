// The attributes of RNN, GRU and LSTM, checked, with every default filled in. Shared by the decomposition and
// by backends that run the operators whole.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "ir/infer.h"
#include "tensor/kinds.h"

namespace walle::ops {

struct RnnSpec {
  RnnKind kind = RnnKind::rnn;
  int64_t sequence = 0, batch = 0, input = 0, hidden = 0;
  int64_t gates = 1;  // 1, 3 or 4
  int64_t directions = 1;
  bool reverse_first = false;  // the first direction runs backward
  bool batch_first = false;    // layout 1
  bool linear_before_reset = false;
  bool input_forget = false;
  // LSTM, and not of ONNX: what com.microsoft's DynamicQuantizeLSTM does to the state before each step.
  bool round_state = false;
  float clip = 0;                                         // 0: none
  std::vector<std::array<RnnActivation, 3>> activations;  // per direction: f, g, h

  bool backward(int64_t direction) const { return direction == 1 || reverse_first; }
};

// Inputs.
inline constexpr int kRnnX = 0;
inline constexpr int kRnnW = 1;
inline constexpr int kRnnR = 2;
inline constexpr int kRnnB = 3;
inline constexpr int kRnnLengths = 4;
inline constexpr int kRnnH = 5;
inline constexpr int kRnnC = 6;
inline constexpr int kRnnP = 7;

Result<RnnSpec> rnn_spec(std::string_view op, const ir::Attributes& attrs, const Shape& x, const Shape& w,
                         const Shape& r);

}  // namespace walle::ops
