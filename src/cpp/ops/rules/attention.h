// The internal operator "attention": out = softmax(scale Q K^T + bias) V for any number of heads, made by
// fuse_attention alone and never by a model file. float32.
//
// Inputs Q, K, V, optional bias (float32), optional keep (bool), optional second bias. Every operand is a
// value of any shape that is read, and the result one that is written, by strides: movement between heads
// needs no raster.
#pragma once

#include "ops/program.h"

namespace walle::ops {

// Where the elements of an operand lie in its value, in elements.
struct AttentionOperand {
  int64_t offset = 0;
  int64_t row = 0;
  int64_t col = 0;
  std::vector<int64_t> heads;  // a stride per axis of AttentionSpec::heads; 0 where heads share
};

// Query q sees keys [q + first, q + last]; a causal mask has last = 0.
struct KeyBand {
  static constexpr int64_t kOpen = int64_t{1} << 40;  // beyond every key
  int64_t first = -kOpen, last = kOpen;

  // Of the queries and keys there are; the keys that one query more or less sees are what is counted.
  int64_t scores(int64_t queries, int64_t keys) const;
};

// What a query becomes whose weights are NaN. `zero`: 0, where -infinities hide every key from it.
// `never_nan`: 0 whatever the reason.
enum class Empty { nan, zero, never_nan };

struct AttentionSpec {
  enum Operand { kQ, kK, kV, kBias, kKeep, kMore, kOut, kOperands };

  int64_t queries = 0, keys = 0, depth = 0, width = 0;
  std::vector<int64_t> heads;  // axes over heads, outermost first; none: one head
  double scale = 1;
  bool keep_value = true;  // of input kKeep: where a score stays
  double fill = 0;         // what it becomes elsewhere
  double cap = 0;          // not 0: scores become cap * tanh(score) before a bias is added
  KeyBand band;
  Empty empty = Empty::nan;
  std::array<AttentionOperand, kOperands> operands;

  int64_t head_count() const;
  // Where head number i of an operand starts.
  int64_t start(Operand operand, int64_t i) const;
};

ir::Attributes to_attributes(const AttentionSpec& spec);
// Only of attributes that to_attributes() made.
AttentionSpec attention_spec(const ir::Attributes& attributes);

const ir::OpDef& attention_op();

}  // namespace walle::ops
