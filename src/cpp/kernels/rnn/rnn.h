// RNN, GRU and LSTM whole: the input projection of many steps is one packed matrix product; each step is a
// product of the state with packed recurrent weights and one pass over the gates. float32.
#pragma once

#include <array>

#include "kernels/gemm/gemm.h"
#include "kernels/rnn/rnn_table.h"

namespace walle::kernels {

const RnnTable& rnn_table(Isa isa);

struct Rnn {
  RnnKind kind = RnnKind::rnn;
  int64_t sequence = 0, batch = 0, input = 0, hidden = 0;
  int64_t gates = 1;
  int64_t directions = 1;
  std::array<bool, 2> backward{};
  // x [batch, sequence, input], y [batch, sequence, directions, hidden], states [batch, directions, hidden].
  bool batch_first = false;
  bool linear_before_reset = false;  // GRU
  bool input_forget = false;         // LSTM
  bool round_state = false;          // LSTM: the state enters each product as 8-bit codes would say it
  float clip = 0;
  std::array<std::array<RnnActivation, 3>, 2> activations{};
};

// Optional pointers may be null.
struct RnnOperands {
  const float* x = nullptr;
  const float* packed = nullptr;     // directions * rnn_packed_elements
  const float* b = nullptr;          // [directions, 2 * gates * hidden], optional
  const int32_t* lengths = nullptr;  // [batch], optional; clipped to [0, sequence]
  const float* h = nullptr;          // initial states, optional
  const float* cell = nullptr;
  const float* peephole = nullptr;
  float* y = nullptr;
  float* y_h = nullptr;
  float* y_cell = nullptr;
};

// One direction's weights W [gates * hidden, input] and R [gates * hidden, hidden] as panels.
int64_t rnn_packed_elements(const GemmTable& table, const Rnn& rnn);
void pack_rnn(const GemmTable& table, const Rnn& rnn, const float* w, const float* r, float* out);

int64_t rnn_workspace_bytes(const GemmTable& table, const Rnn& rnn, int threads);
void run_rnn(Isa isa, const Rnn& rnn, const RnnOperands& operands, int threads, std::byte* workspace);

}  // namespace walle::kernels
