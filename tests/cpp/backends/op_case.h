// One operator on given inputs, and any of the CPU's ways to run it, in every layout.
#pragma once

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backends/cpu/cpu_backend.h"
#include "backends/host_memory.h"
#include "ops/lower.h"
#include "ops/registry.h"

namespace walle::backends {

class Case {
 public:
  Case(const char* op, ir::Attributes attributes, std::vector<Tensor> inputs, std::vector<bool> constant = {},
       int outputs = 1)
      : name_(op) {
    ops::Lowering lowering(program_, {});
    std::vector<ops::Ref> refs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const bool known = i < constant.size() && constant[i];
      refs.push_back(known ? lowering.add_constant(inputs[i])
                           : lowering.add_value(inputs[i].dtype(), inputs[i].shape()));
    }
    inputs_ = std::move(inputs);
    const ir::OpDef* def = ops::find_op(op);
    std::vector<ir::InferInput> seen;
    for (ops::Ref r : refs) seen.push_back(lowering.infer_input(r));
    ir::InferContext context(attributes, seen, outputs);
    EXPECT_TRUE(def->infer(context).ok()) << op;
    std::vector<ops::Ref> results;
    for (const ir::InferOutput& o : context.outputs())
      results.push_back(lowering.add_value(o.dtype, o.shape));
    program_.nodes.push_back({def, attributes, refs, results, op, {}, {}});
  }

  const char* name() const { return name_; }
  NodeView view() const { return NodeView(program_, program_.nodes[0]); }

  // All results, or the error.
  Result<std::vector<Tensor>> run(const Candidate& candidate, int threads) const {
    return run_on(cpu::cpu_backend(), candidate, threads);
  }

  // The same by a candidate of `backend`, with the operands where its kernels want them.
  Result<std::vector<Tensor>> run_on(const Backend& backend, const Candidate& candidate, int threads) const {
    PrepareContext context{nullptr, threads};
    WALLE_ASSIGN(const auto kernel, backend.prepare(view(), candidate, context));
    std::vector<Block> blocks;
    std::vector<Handle> in, out;
    for (const Tensor& t : inputs_) {
      WALLE_ASSIGN(Block block, poisoned(backend.source(), t.dtype(), t.shape()));
      WALLE_TRY(backend.source().bring_in(block.handle(), t.data(), t.dtype(), t.shape(), 1));
      in.push_back(block.handle());
      blocks.push_back(std::move(block));
    }
    for (int i = 0; i < view().output_count(); ++i) {
      WALLE_ASSIGN(Block block, poisoned(backend.memory(), view().out_dtype(i), view().out_shape(i)));
      out.push_back(block.handle());
      blocks.push_back(std::move(block));
    }
    WALLE_ASSIGN(const Block workspace,
                 poisoned(backend.memory(), DType::uint8, Shape{candidate.workspace_bytes}));
    WALLE_TRY(kernel->run({.in = in, .out = out, .workspace = workspace.handle(), .threads = threads}));
    std::vector<Tensor> results;
    for (int i = 0; i < view().output_count(); ++i) {
      results.push_back(*Tensor::allocate(view().out_dtype(i), view().out_shape(i)));
      Tensor& t = results.back();
      WALLE_TRY(backend.memory().bring_out(t.mutable_data(), out[i], t.dtype(), t.shape(), 1));
    }
    return results;
  }

 private:
  // NaN everywhere: what is read before it is written shows.
  static Result<Block> poisoned(Memory& memory, DType dtype, const Shape& shape) {
    const int64_t bytes = memory.bytes_of(dtype, shape);
    WALLE_ASSIGN(Block block, Block::allocate(memory, bytes));
    const std::vector<unsigned char> poison(static_cast<size_t>(bytes), 0xff);
    if (bytes > 0) WALLE_TRY(memory.copy_in(block.handle(), poison.data(), bytes));
    return block;
  }

  const char* name_;
  ops::Program program_;
  std::vector<Tensor> inputs_;
};

inline Tensor noise(const Shape& shape, uint32_t seed) {
  std::mt19937 rng(seed);
  std::uniform_real_distribution<float> value(-1, 1);
  Tensor t = *Tensor::allocate(DType::float32, shape);
  for (float& v : t.as_mutable<float>()) v = value(rng);
  return t;
}

// `error`: what the candidate says of itself.
inline void expect_equal_enough(const std::vector<Tensor>& got, const std::vector<Tensor>& want,
                                double error = 1) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i)
    for (int64_t k = 0; k < got[i].elements(); ++k) {
      const float a = got[i].as<float>()[static_cast<size_t>(k)],
                  b = want[i].as<float>()[static_cast<size_t>(k)];
      ASSERT_NEAR(a, b, error * 3e-5 * (1 + std::abs(b))) << "result " << i << " element " << k;
    }
}

}  // namespace walle::backends
