// Every element-wise kind and every reduction against the formula of its definition, in double; the others by
// hand.
#include <cmath>
#include <functional>
#include <random>
#include <set>

#include "seed.h"

#include "run_op.h"

namespace walle::ops {
namespace {

constexpr double kPi = 3.14159265358979323846;

struct Unary {
  const char* op;
  std::function<double(double)> formula;
  double low = -4, high = 4;  // the domain to look at
  ir::Attributes attributes = {};
};

double erf_gelu(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }
double tanh_gelu(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / kPi) * (x + 0.044715 * x * x * x)));
}
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

std::vector<Unary> unaries() {
  const double selu_a = 1.67326319217681884765625, selu_g = 1.05070102214813232421875;
  return {
      {"Abs", [](double x) { return std::abs(x); }},
      {"Acos", [](double x) { return std::acos(x); }, -1, 1},
      {"Acosh", [](double x) { return std::acosh(x); }, 1, 9},
      {"Asin", [](double x) { return std::asin(x); }, -1, 1},
      {"Asinh", [](double x) { return std::asinh(x); }},
      {"Atan", [](double x) { return std::atan(x); }},
      {"Atanh", [](double x) { return std::atanh(x); }, -0.95, 0.95},
      {"Ceil", [](double x) { return std::ceil(x); }},
      {"Cos", [](double x) { return std::cos(x); }},
      {"Cosh", [](double x) { return std::cosh(x); }},
      {"Elu", [](double x) { return x > 0 ? x : 0.5 * std::expm1(x); }, -4, 4, {{"alpha", 0.5}}},
      {"Erf", [](double x) { return std::erf(x); }},
      {"Exp", [](double x) { return std::exp(x); }},
      {"Floor", [](double x) { return std::floor(x); }},
      {"Gelu", erf_gelu},
      {"Gelu", tanh_gelu, -4, 4, {{"approximate", std::string("tanh")}}},
      {"HardSigmoid",
       [](double x) { return std::clamp(0.25 * x + 0.4, 0.0, 1.0); },
       -4,
       4,
       {{"alpha", 0.25}, {"beta", 0.4}}},
      {"HardSwish", [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }},
      {"LeakyRelu", [](double x) { return x < 0 ? 0.01 * x : x; }},
      {"Log", [](double x) { return std::log(x); }, 0.01, 9},
      {"Mish", [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }},
      {"Neg", [](double x) { return -x; }},
      {"Reciprocal", [](double x) { return 1 / x; }, 0.1, 4},
      {"Relu", [](double x) { return std::max(x, 0.0); }},
      {"Round", [](double x) { return std::nearbyint(x); }},
      {"Selu", [=](double x) { return selu_g * (x > 0 ? x : selu_a * std::expm1(x)); }},
      {"Sigmoid", sigmoid},
      {"Sign", [](double x) { return (x > 0) - (x < 0); }},
      {"Sin", [](double x) { return std::sin(x); }},
      {"Sinh", [](double x) { return std::sinh(x); }},
      {"Softplus", [](double x) { return std::log1p(std::exp(x)); }},
      {"Softsign", [](double x) { return x / (1 + std::abs(x)); }},
      {"Sqrt", [](double x) { return std::sqrt(x); }, 0, 9},
      {"Tan", [](double x) { return std::tan(x); }, -1.4, 1.4},
      {"Tanh", [](double x) { return std::tanh(x); }},
      {"ThresholdedRelu", [](double x) { return x > 1 ? x : 0; }},
      {"Celu",
       [](double x) { return std::max(0.0, x) + std::min(0.0, 2 * std::expm1(x / 2)); },
       -4,
       4,
       {{"alpha", 2.0}}},
      {"Shrink",
       [](double x) { return x < -0.5  ? x + 0.25
                             : x > 0.5 ? x - 0.25
                                       : 0; },
       -4,
       4,
       {{"lambd", 0.5}, {"bias", 0.25}}},
      {"Clamp", [](double x) { return std::clamp(x, -1.5, 2.0); }, -4, 4, {{"min", -1.5}, {"max", 2.0}}},
      {"IsNaN", [](double x) { return std::isnan(x) ? 1 : 0; }},
      {"IsInf", [](double x) { return std::isinf(x) ? 1 : 0; }},
  };
}

// Lengths around the width of vectors, so that whole vectors and rests are both seen.
TEST(Unary, EveryKindIsItsFormula) {
  const uint32_t seed = test_seed();
  std::mt19937 rng(seed);
  for (const Unary& u : unaries())
    for (const int64_t n : {1, 7, 64, 67})
      for (const DType dtype : {DType::float32, DType::float64}) {
        std::uniform_real_distribution<float> value(static_cast<float>(u.low), static_cast<float>(u.high));
        std::vector<double> x(static_cast<size_t>(n));
        for (double& v : x) v = value(rng);  // exact in both types
        SCOPED_TRACE(std::string(u.op) + " " + std::string(dtype_name(dtype)) + " n " + std::to_string(n) +
                     " seed " + std::to_string(seed));
        const auto got = run_op(u.op, u.attributes, {tensor(dtype, Shape{n}, x)});
        ASSERT_TRUE(got.ok()) << got.error().message();
        const std::vector<double> y = *(*got)[0].to_f64();
        for (size_t i = 0; i < x.size(); ++i) {
          const double want = u.formula(x[i]);
          ASSERT_NEAR(y[i], want, (dtype == DType::float32 ? 3e-6 : 1e-12) * (1 + std::abs(want)))
              << "x = " << x[i];
        }
      }
}

struct Binary {
  const char* op;
  std::function<double(double, double)> formula;
  DType dtype = DType::float32;
  ir::Attributes attributes = {};
};

std::vector<Binary> binaries() {
  const auto bits = [](auto fn) {
    return [fn](double a, double b) {
      return static_cast<double>(fn(static_cast<int64_t>(a), static_cast<int64_t>(b)));
    };
  };
  return {
      {"Add", [](double a, double b) { return a + b; }},
      {"Sub", [](double a, double b) { return a - b; }},
      {"Mul", [](double a, double b) { return a * b; }},
      {"Div", [](double a, double b) { return a / b; }},
      {"Div", [](double a, double b) { return std::trunc(a / b); }, DType::int32},
      {"Mod", [](double a, double b) { return a - b * std::floor(a / b); }, DType::int32},
      {"Mod", [](double a, double b) { return std::fmod(a, b); }, DType::float32, {{"fmod", int64_t{1}}}},
      {"Power", [](double a, double b) { return std::pow(a, b); }},
      {"PRelu", [](double a, double b) { return a < 0 ? a * b : a; }},
      {"Min2", [](double a, double b) { return std::min(a, b); }},
      {"Max2", [](double a, double b) { return std::max(a, b); }},
      {"And", [](double a, double b) { return a && b; }, DType::boolean},
      {"Or", [](double a, double b) { return a || b; }, DType::boolean},
      {"Xor", [](double a, double b) { return (a != 0) != (b != 0); }, DType::boolean},
      {"BitwiseAnd", bits([](int64_t a, int64_t b) { return a & b; }), DType::int32},
      {"BitwiseOr", bits([](int64_t a, int64_t b) { return a | b; }), DType::int32},
      {"BitwiseXor", bits([](int64_t a, int64_t b) { return a ^ b; }), DType::int32},
      {"BitShift",
       bits([](int64_t a, int64_t b) { return (a << b) & 0xff; }),
       DType::uint8,
       {{"direction", std::string("LEFT")}}},
      {"BitShift",
       bits([](int64_t a, int64_t b) { return a >> b; }),
       DType::uint8,
       {{"direction", std::string("RIGHT")}}},
      {"Equal", [](double a, double b) { return a == b; }, DType::int32},
      {"Greater", [](double a, double b) { return a > b; }},
      {"GreaterOrEqual", [](double a, double b) { return a >= b; }, DType::int32},
      {"Less", [](double a, double b) { return a < b; }},
      {"LessOrEqual", [](double a, double b) { return a <= b; }, DType::int32},
  };
}

double at(const std::vector<double>& v, const Shape& shape, int64_t row, int64_t col) {
  const int64_t r = shape.rank() > 1 && shape[0] > 1 ? row : 0,
                c = shape.rank() > 0 && shape.back() > 1 ? col : 0;
  return v[static_cast<size_t>(r * (shape.rank() ? shape.back() : 1) + c)];
}

TEST(Binary, EveryKindIsItsFormulaInEveryBroadcast) {
  const uint32_t seed = test_seed();
  std::mt19937 rng(seed);
  const Shape whole{5, 19};
  for (const Binary& b : binaries())
    for (const Shape& second : {whole, Shape{19}, Shape{5, 1}, Shape{}, Shape{1, 19}}) {
      const bool whole_numbers = b.dtype != DType::float32,
                 positive = b.op == std::string("Power") || b.dtype == DType::uint8;
      const auto draw = [&](int64_t n, bool divisor) {
        std::vector<double> v(static_cast<size_t>(n));
        for (double& x : v) {
          x = b.dtype == DType::boolean ? static_cast<double>(rng() % 2)
              : b.dtype == DType::uint8 ? static_cast<double>(rng() % (divisor ? 8 : 256))
              : whole_numbers           ? static_cast<double>(rng() % 41) - 20
                                        : static_cast<double>(static_cast<float>(rng() % 4001) / 1000 - 2);
          if (positive && x < 0) x = -x;
          if (divisor && x == 0 && b.dtype != DType::boolean) x = 1;
          if (positive && x == 0) x = 1;
        }
        return v;
      };
      const auto x = draw(whole.elements(), false), y = draw(second.elements(), true);
      SCOPED_TRACE(std::string(b.op) + " {" + b.attributes.text() + "} with " + second.text() + " seed " +
                   std::to_string(seed));
      const auto got = run_op(b.op, b.attributes, {tensor(b.dtype, whole, x), tensor(b.dtype, second, y)});
      ASSERT_TRUE(got.ok()) << got.error().message();
      const std::vector<double> z = *(*got)[0].to_f64();
      for (int64_t r = 0; r < 5; ++r)
        for (int64_t c = 0; c < 19; ++c) {
          const double want = b.formula(at(x, whole, r, c), at(y, second, r, c));
          ASSERT_NEAR(z[static_cast<size_t>(r * 19 + c)], want, 3e-6 * (1 + std::abs(want)))
              << "row " << r << " column " << c;
        }
    }
}

TEST(Reduce, EveryKindIsItsFormula) {
  struct Kind {
    const char* op;
    double start;
    std::function<double(double, double)> step;
    std::function<double(double)> finish = [](double v) { return v; };
  };
  const double inf = __builtin_inf();
  const auto add = [](double a, double v) { return a + v; };
  const auto square = [](double a, double v) { return a + v * v; };
  const Kind kinds[] = {
      {"ReduceSum", 0, add},
      {"ReduceMean", 0, add, [](double v) { return v / 12; }},
      {"ReduceProd", 1, [](double a, double v) { return a * v; }},
      {"ReduceMax", -inf, [](double a, double v) { return std::max(a, v); }},
      {"ReduceMin", inf, [](double a, double v) { return std::min(a, v); }},
      {"ReduceL1", 0, [](double a, double v) { return a + std::abs(v); }},
      {"ReduceL2", 0, square, [](double v) { return std::sqrt(v); }},
      {"ReduceSumSquare", 0, square},
      {"ReduceLogSum", 0, add, [](double v) { return std::log(v); }},
      {"ReduceLogSumExp", 0, [](double a, double v) { return a + std::exp(v); },
       [](double v) { return std::log(v); }},
  };
  std::vector<double> x(36);
  for (size_t i = 0; i < x.size(); ++i) x[i] = 0.25 + static_cast<double>(i * 7 % 11) / 4;
  for (const Kind& kind : kinds) {
    SCOPED_TRACE(kind.op);
    const auto got = run_op(kind.op, {{"keepdims", int64_t{0}}}, {floats(Shape{3, 3, 4}, x), ints({0, -1})});
    ASSERT_TRUE(got.ok()) << got.error().message();
    ASSERT_EQ((*got)[0].shape(), Shape{3});
    const auto y = *(*got)[0].to_f64();
    for (size_t middle = 0; middle < 3; ++middle) {
      double want = kind.start;
      for (size_t i = 0; i < 3; ++i)
        for (size_t k = 0; k < 4; ++k) want = kind.step(want, x[i * 12 + middle * 4 + k]);
      want = kind.finish(want);
      EXPECT_NEAR(y[middle], want, 1e-5 * (1 + std::abs(want)));
    }
  }
  for (const char* op : {"ReduceSum", "ReduceMax"}) {
    EXPECT_FALSE(run_op(op, {}, {ramp(Shape{2}), ints({1})}).ok());
    EXPECT_FALSE(run_op(op, {}, {ramp(Shape{2}), ints({0, 0})}).ok());
    EXPECT_EQ((*run_op(op, {{"noop_with_empty_axes", int64_t{1}}}, {ramp(Shape{2})}))[0].shape(), Shape{2});
  }
}

TEST(Atomic, RowsByHand) {
  const Tensor six = ramp(Shape{2, 3});
  const Row rows[] = {
      {"ArgMax", {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}}, {six}, {2}, {2, 2}},
      {"ArgMin", {{"axis", int64_t{0}}}, {six}, {1, 3}, {0, 0, 0}},
      {"MatMul", {}, {six, ramp(Shape{3, 2})}, {2, 2}, {10, 13, 28, 40}},
      {"MatMul", {}, {ramp(Shape{3}), ramp(Shape{3})}, {}, {5}},
      {"MatMul", {}, {ramp(Shape{2, 0}), ramp(Shape{0, 2})}, {2, 2}, {0, 0, 0, 0}},
      {"Conv",
       {},
       {ramp(Shape{1, 1, 3, 3}), floats(Shape{1, 1, 2, 2}, {1, 1, 1, 1})},
       {1, 1, 2, 2},
       {8, 12, 20, 24}},
      {"Conv",
       {{"pads", Ints{1, 1}}},
       {ramp(Shape{1, 1, 3}), floats(Shape{1, 1, 3}, {1, 0, -1})},
       {1, 1, 3},
       {-1, -2, 1}},
      {"MaxPool", {{"kernel_shape", Ints{2}}}, {ramp(Shape{1, 1, 4})}, {1, 1, 3}, {1, 2, 3}},
      {"AveragePool",
       {{"kernel_shape", Ints{2}}, {"strides", Ints{2}}},
       {ramp(Shape{1, 1, 4})},
       {1, 1, 2},
       {0.5, 2.5}},
      {"Softmax", {}, {floats(Shape{1, 2}, {0, std::log(3.0)})}, {1, 2}, {0.25, 0.75}, 1e-6},
      {"LogSoftmax", {}, {floats(Shape{2}, {0, 0})}, {2}, {-std::log(2.0), -std::log(2.0)}, 1e-6},
      {"CumSum", {}, {ramp(Shape{4}), integer(0)}, {4}, {0, 1, 3, 6}},
      {"TopK", {}, {ramp(Shape{4}), ints({2})}, {2}, {3, 2}},
      {"Det", {}, {floats(Shape{2, 2}, {1, 2, 3, 4})}, {}, {-2}, 1e-6},
      {"Where",
       {},
       {tensor(DType::boolean, Shape{2}, {1, 0}), ramp(Shape{2}), floats(Shape{}, {9})},
       {2},
       {0, 9}},
      {"Cast",
       {{"to", static_cast<int64_t>(DType::int8)}},
       {floats(Shape{3}, {1.9, -1.9, 3})},
       {3},
       {1, -1, 3}},
      {"LayerNormalization",
       {},
       {floats(Shape{1, 2}, {1, 3}), floats(Shape{2}, {1, 1})},
       {1, 2},
       {-1, 1},
       1e-4},
      {"Not", {}, {tensor(DType::boolean, Shape{2}, {1, 0})}, {2}, {0, 1}},
      {"BitwiseNot", {}, {tensor(DType::int8, Shape{2}, {0, -1})}, {2}, {-1, 0}},
  };
  for (const Row& row : rows) expect_row(row);
}

TEST(Atomic, EveryElementWiseKindHasAFormula) {
  std::set<std::string_view> tested{"Not", "BitwiseNot"};
  for (const Unary& u : unaries()) tested.insert(u.op);
  for (const Binary& b : binaries()) tested.insert(b.op);
  for (const ir::OpDef* op : all_ops())
    if (op->family == "Unary" || op->family == "Binary") {
      EXPECT_TRUE(tested.contains(op->name)) << op->name << ": add its formula";
    }
}

}  // namespace
}  // namespace walle::ops
