// The operator table itself: complete rows, and no shape rule or decomposition that a hostile node can break.
#include <random>
#include <set>

#include "run_op.h"
#include "seed.h"

namespace walle::ops {
namespace {

TEST(OpTable, RowsAreCompleteAndFoundByName) {
  std::set<std::string_view> names;
  for (const ir::OpDef* op : all_ops()) {
    SCOPED_TRACE(op->name);
    EXPECT_TRUE(names.insert(op->name).second) << "listed twice";
    EXPECT_EQ(find_op(op->name), op);
    EXPECT_GE(op->inputs.min, 0);
    EXPECT_TRUE(op->inputs.max < 0 || op->inputs.max >= op->inputs.min);
    EXPECT_TRUE(op->outputs.max < 0 || op->outputs.max >= op->outputs.min);
    const bool control = op->op_class == ir::OpClass::control;
    EXPECT_EQ(op->control != nullptr, control);
    EXPECT_EQ(op->infer != nullptr, !control);
    if (op->op_class == ir::OpClass::transform) {
      EXPECT_NE(op->lower, nullptr);
    }
  }
  EXPECT_GT(names.size(), 180u);
  for (const char* name : {"", "relu", "Relu ", "Frobnicate"}) EXPECT_EQ(find_op(name), nullptr) << name;
}

// A node as a damaged file might hold it: operands, attributes and sizes drawn from values that break
// careless rules.
class Hostile {
 public:
  explicit Hostile(uint32_t seed) : rng_(seed) {}

  Tensor operand() {
    static constexpr DType kTypes[] = {DType::float32, DType::float32,     DType::int64, DType::int64,
                                       DType::float64, DType::int32,       DType::uint8, DType::boolean,
                                       DType::float16, DType::float8e4m3fn};
    if (pick(12) == 0) return Tensor();
    const DType dtype = kTypes[pick(std::size(kTypes))];
    Shape shape;
    for (size_t rank = pick(6); rank > 0; --rank) shape.push_back(static_cast<int64_t>(pick(5)));
    Tensor t = *Tensor::zeros(dtype, shape);
    tensor::visit_integer(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (T& v : t.as_mutable<T>()) v = static_cast<T>(number());
    });
    if (dtype == DType::float32)
      for (float& v : t.as_mutable<float>())
        v = pick(10) ? static_cast<float>(pick(7)) - 3 : static_cast<float>(number());
    return t;
  }

  int64_t number() {
    static constexpr int64_t kEdges[] = {-1,        0,   -2, int64_t{1} << 31, int64_t{1} << 40, INT64_MAX,
                                         INT64_MIN, 200, -9};
    return pick(4) ? static_cast<int64_t>(pick(6)) : kEdges[pick(std::size(kEdges))];
  }

  ir::Attributes attributes() {
    static constexpr const char* kNames[] = {"axis",
                                             "axes",
                                             "pads",
                                             "strides",
                                             "dilations",
                                             "kernel_shape",
                                             "group",
                                             "keepdims",
                                             "perm",
                                             "blocksize",
                                             "batch_dims",
                                             "to",
                                             "hidden_size",
                                             "size",
                                             "num_groups",
                                             "output_shape",
                                             "k",
                                             "p",
                                             "ceil_mode",
                                             "split",
                                             "num_outputs",
                                             "stash_type",
                                             "output_padding",
                                             "onesided",
                                             "block_size",
                                             "auto_pad",
                                             "mode",
                                             "start",
                                             "end",
                                             "batch_axis",
                                             "time_axis",
                                             "direction",
                                             "offset_group",
                                             "max_gram_length"};
    ir::Attributes a;
    for (size_t n = pick(4); n > 0; --n) {
      std::vector<int64_t> list;
      for (size_t i = pick(5); i > 0; --i) list.push_back(number());
      switch (pick(4)) {
        case 0: a.set(kNames[pick(std::size(kNames))], number()); break;
        case 1: a.set(kNames[pick(std::size(kNames))], list); break;
        case 2:
          a.set(kNames[pick(std::size(kNames))], std::string(pick(2) ? "SAME_UPPER" : "reverse"));
          break;
        default: a.set(kNames[pick(std::size(kNames))], static_cast<double>(number())); break;
      }
    }
    return a;
  }

  size_t pick(size_t n) { return rng_() % n; }

 private:
  std::mt19937 rng_;
};

// Nothing is executed: shape rule and decomposition alone, which decide what would be allocated and copied.
// Whatever they accept must have shapes within the limits; what they refuse must be a model's or a caller's
// fault, never ours.
TEST(OpTable, HostileNodesAreRefusedOrPlanned) {
  const uint32_t seed = test_seed(1);  // another one finds other combinations
  Hostile hostile(seed);
  int accepted = 0, refused = 0;
  for (const ir::OpDef* op : all_ops()) {
    if (!op->infer) continue;
    for (int round = 0; round < 150; ++round) {
      Program program;
      Lowering lowering(program, {});
      std::vector<Ref> refs;
      const size_t most = static_cast<size_t>(op->inputs.max < 0 ? op->inputs.min + 2 : op->inputs.max);
      const size_t count =
          static_cast<size_t>(op->inputs.min) + hostile.pick(most - static_cast<size_t>(op->inputs.min) + 1);
      std::string operands;
      for (size_t i = 0; i < count; ++i) {
        const Tensor t = hostile.operand();
        const bool required = i < static_cast<size_t>(op->inputs.min);
        if (!t.defined() && required) {  // the verifier sees to it that these are there
          refs.push_back(lowering.add_constant(ramp(Shape{2, 2})));
          operands += " float32[2, 2]";
        } else {
          refs.push_back(t.defined() ? lowering.add_constant(t) : kNoRef);
          operands += t.defined() ? " " + std::string(dtype_name(t.dtype())) + t.shape().text() : " -";
        }
      }
      const ir::Attributes attributes = hostile.attributes();
      SCOPED_TRACE(std::string(op->name) + operands + " {" + attributes.text() + "} seed " +
                   std::to_string(seed));
      const int outputs = std::max(1, op->outputs.min);
      const auto made = lowering.apply(*op, attributes, refs, outputs, "node");
      if (!made.ok()) {
        ++refused;
        EXPECT_NE(made.error().group(), base::ErrorGroup::internal) << made.error().message();
        EXPECT_FALSE(made.error().text().next.empty()) << made.error().message();
        continue;
      }
      ++accepted;
      for (const ProgramValue& v : program.values)
        EXPECT_TRUE(Shape::checked(v.shape.dims(), std::max<int64_t>(dtype_size(v.dtype), 1), "result").ok())
            << v.shape.text();
    }
  }
  EXPECT_GT(accepted, 1000);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace walle::ops
