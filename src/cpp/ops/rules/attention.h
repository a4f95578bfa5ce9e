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
template <class Size>
struct BasicAttentionOperand {
  Size offset = 0;
  Size row = 0;
  Size col = 0;
  std::vector<Size> heads;  // a stride per axis of AttentionSpec::heads; 0 where heads share
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

// Of plain sizes, as kernels read it, or of sizes that may be symbols, as the pass makes it.
template <class Size>
struct BasicAttentionSpec {
  enum Operand { kQ, kK, kV, kBias, kKeep, kMore, kOut, kOperands };

  Size queries = 0, keys = 0, depth = 0, width = 0;
  std::vector<Size> heads;  // axes over heads, outermost first; none: one head
  double scale = 1;
  bool keep_value = true;  // of input kKeep: where a score stays
  double fill = 0;         // what it becomes elsewhere
  double cap = 0;          // not 0: scores become cap * tanh(score) before a bias is added
  KeyBand band;
  Empty empty = Empty::nan;
  std::array<BasicAttentionOperand<Size>, kOperands> operands;

  Size head_count() const {
    Size count = 1;
    for (const Size& size : heads) count *= size;
    return count;
  }
  // Where head number i of an operand starts.
  Size start(Operand operand, Size i) const {
    const BasicAttentionOperand<Size>& o = operands[operand];
    Size at = o.offset;
    for (size_t axis = o.heads.size(); axis-- > 0; i /= heads[axis]) at += i % heads[axis] * o.heads[axis];
    return at;
  }
};
using AttentionOperand = BasicAttentionOperand<int64_t>;
using AttentionSpec = BasicAttentionSpec<int64_t>;
using AttentionDims = BasicAttentionSpec<Dim>;

// The attributes of a node, and which of their numbers are symbols.
ir::Attributes to_attributes(const AttentionDims& spec, std::vector<AttributeDim>& symbols);
// Pins every symbol.
AttentionSpec pinned(const AttentionDims& spec);
// Only of attributes that to_attributes() made.
AttentionSpec attention_spec(const ir::Attributes& attributes);

const ir::OpDef& attention_op();

}  // namespace walle::ops
