// Every kernel that the CPU claims an operator with, where one of the operator's dimensions is 0 for certain.
//
// What random shapes meet by chance alone is found by chance alone: a product of doubles without depth
// pointed beyond a null pointer in one run of some hundred. Under the sanitizers this sweep says so every
// time. A result that has elements nevertheless is of sums of nothing, and `nothing` says what they are.
#include <cstdlib>
#include <functional>
#include <limits>

#include "kernels/isa.h"
#include "op_case.h"

namespace walle::backends {
namespace {

using Ints = std::vector<int64_t>;

constexpr double kMostNegative = -std::numeric_limits<double>::infinity();
constexpr double kAnything = std::numeric_limits<double>::quiet_NaN();

struct Family {
  std::string name;
  Ints dims;  // of the case; each is 0 in one of its turns, and all are in the last
  std::function<Case(const Ints&)> make;
  double nothing = 0;
};

template <class T>
Tensor filled(DType dtype, const Shape& shape, T value) {
  Tensor out = *Tensor::allocate(dtype, shape);
  for (T& v : out.as_mutable<T>()) v = value;
  return out;
}
Tensor floats(const Shape& shape) { return filled(DType::float32, shape, 0.5f); }
Tensor doubles(const Shape& shape) { return filled(DType::float64, shape, 0.5); }
Tensor codes(const Shape& shape) { return filled(DType::uint8, shape, uint8_t{9}); }
Tensor weights(const Shape& shape) { return filled(DType::int8, shape, int8_t{3}); }
Tensor scale() { return filled(DType::float32, {}, 0.5f); }
Tensor zero() { return filled(DType::uint8, {}, uint8_t{7}); }
Tensor signed_zero() { return filled(DType::int8, {}, int8_t{0}); }

const std::vector<bool> kSecondKnown{false, true};
// What stands behind the codes of QLinear operators is known.
const std::vector<bool> kCodesKnown{false, true, true, false, true, true, true, true};
const std::vector<bool> kConvKnown{false, true, true, true, true, true, true, true};

ir::Attributes window(int64_t side) {
  return {{"pads", Ints{0, 0, 0, 0}},
          {"strides", Ints{1, 1}},
          {"dilations", Ints{1, 1}},
          {"kernel_shape", Ints{side, side}},
          {"group", int64_t{1}}};
}

// m, k, n.
std::vector<Family> products() {
  std::vector<Family> out;
  for (const bool known : {true, false})
    for (const int64_t m : {1, 9}) {
      const std::vector<bool> constant{false, known};
      const std::string how = (known ? " by a constant, " : ", ") + std::to_string(m);
      const Ints dims{m, 20, 37};
      out.push_back({"floats" + how, dims, [=](const Ints& d) {
                       return Case("MatMul", {}, {floats({d[0], d[1]}), floats({d[1], d[2]})}, constant);
                     }});
      out.push_back({"doubles" + how, dims, [=](const Ints& d) {
                       return Case("MatMul", {}, {doubles({d[0], d[1]}), doubles({d[1], d[2]})}, constant);
                     }});
      out.push_back({"integers" + how, dims, [=](const Ints& d) {
                       return Case("MatMulInteger", {}, {codes({d[0], d[1]}), weights({d[1], d[2]}), zero()},
                                   constant);
                     }});
    }
  out.push_back({"products of a batch", {2, 5, 6, 7}, [](const Ints& d) {
                   return Case("MatMul", {}, {floats({d[0], d[1], d[2]}), floats({d[0], d[2], d[3]})});
                 }});
  out.push_back({"a bias without products",
                 {5, 6, 7},
                 [](const Ints& d) {
                   return Case("MatMul", {}, {floats({d[0], d[1]}), floats({d[1], d[2]}), floats({d[2]})},
                               {false, true, true});
                 },
                 0.5});
  for (const int64_t level : {0, 4})
    out.push_back({"packed weights", {5}, [=](const Ints& d) {
                     const ir::Attributes a{{"K", int64_t{64}},
                                            {"N", int64_t{20}},
                                            {"bits", int64_t{4}},
                                            {"block_size", int64_t{32}},
                                            {"accuracy_level", level}};
                     return Case("MatMulNBits", a, {floats({d[0], 64}), codes({20, 2, 16}), floats({40})},
                                 {false, true, true});
                   }});
  return out;
}

// n, c, h, w, m: windows have 3 x 3 places, whatever the image.
std::vector<Family> convolutions() {
  std::vector<Family> out;
  for (const int64_t side : {1, 3}) {
    const std::string how = " of " + std::to_string(side);
    const Ints dims{2, 16, 7, 8, 20};
    const auto image = [](const Ints& d) { return Shape{d[0], d[1], d[2], d[3]}; };
    // Where a window does not fit its image there is no shape: padding makes room.
    const auto attributes = [=] {
      ir::Attributes a = window(side);
      a.set("pads", Ints{1, 1, 1, 1});
      return a;
    };
    for (const bool known : {true, false})
      out.push_back({"Conv" + how, dims, [=](const Ints& d) {
                       return Case("Conv", attributes(), {floats(image(d)), floats({d[4], d[1], side, side})},
                                   {false, known});
                     }});
    out.push_back({"depthwise Conv" + how, {2, 16, 7, 8}, [=](const Ints& d) {
                     ir::Attributes a = attributes();
                     a.set("group", std::max<int64_t>(d[1], 1));
                     return Case("Conv", a, {floats(image(d)), floats({d[1], d[1] ? 1 : 0, side, side})},
                                 kSecondKnown);
                   }});
    out.push_back({"ConvInteger" + how, dims, [=](const Ints& d) {
                     return Case("ConvInteger", attributes(),
                                 {codes(image(d)), weights({d[4], d[1], side, side}), zero()},
                                 {false, true, true});
                   }});
    out.push_back({"QuantizedConv" + how, dims,
                   [=](const Ints& d) {
                     return Case("QuantizedConv", attributes(),
                                 {codes(image(d)), scale(), zero(), weights({d[4], d[1], side, side}),
                                  scale(), signed_zero(), scale(), zero()},
                                 kConvKnown);
                   },
                   7});
  }
  return out;
}

std::vector<Family> images() {
  std::vector<Family> out;
  const Ints dims{2, 16, 7, 8};
  const auto image = [](const Ints& d) { return Shape{d[0], d[1], d[2], d[3]}; };
  ir::Attributes padded = window(2);
  padded.set("pads", Ints{1, 1, 1, 1});
  out.push_back({"MaxPool", dims, [=](const Ints& d) { return Case("MaxPool", padded, {floats(image(d))}); },
                 kAnything});
  out.push_back({"MaxPool of codes", dims,
                 [=](const Ints& d) { return Case("MaxPool", padded, {codes(image(d))}); }, kAnything});
  out.push_back({"AveragePool", dims,
                 [=](const Ints& d) { return Case("AveragePool", padded, {floats(image(d))}); }, kAnything});
  out.push_back({"QLinearGlobalAveragePool", dims,
                 [=](const Ints& d) {
                   return Case("QLinearGlobalAveragePool", {},
                               {codes(image(d)), scale(), zero(), scale(), zero()},
                               {false, true, true, true, true});
                 },
                 kAnything});
  for (const char* op : {"QLinearAdd", "QLinearMul"})
    out.push_back(
        {op, dims, [=](const Ints& d) {
           return Case(op, {},
                       {codes(image(d)), scale(), zero(), codes(image(d)), scale(), zero(), scale(), zero()},
                       kCodesKnown);
         }});
  out.push_back({"QLinearMul by channels", dims, [=](const Ints& d) {
                   return Case("QLinearMul", {},
                               {codes(image(d)), scale(), zero(), codes({d[0], d[1], 1, 1}), scale(), zero(),
                                scale(), zero()},
                               kCodesKnown);
                 }});
  out.push_back({"CodeLookup", dims, [=](const Ints& d) {
                   return Case("CodeLookup", {}, {codes(image(d)), codes({256})}, kSecondKnown);
                 }});
  for (const char* op : {"Relu", "Tanh", "HardSwish"})
    out.push_back({op, dims, [=](const Ints& d) { return Case(op, {}, {floats(image(d))}); }});
  for (const char* op : {"Add", "Mul", "Div"})
    out.push_back(
        {op, dims, [=](const Ints& d) { return Case(op, {}, {floats(image(d)), floats({1, d[1], 1, 1})}); }});
  return out;
}

std::vector<Family> lines() {
  std::vector<Family> out;
  const Ints dims{3, 17, 5};
  const auto shape = [](const Ints& d) { return Shape{d[0], d[1], d[2]}; };
  for (const int64_t axis : {0, 1, 2})
    for (const char* op : {"Softmax", "LogSoftmax"})
      out.push_back(
          {op, dims, [=](const Ints& d) { return Case(op, {{"axis", axis}}, {floats(shape(d))}); }});
  out.push_back({"LayerNormalization", {4, 20}, [](const Ints& d) {
                   return Case("LayerNormalization", {},
                               {floats({d[0], d[1]}), floats({d[1]}), floats({d[1]})}, {false, true, true});
                 }});
  for (const int64_t axis : {0, 1, 2})
    for (const auto& [op, nothing] : {std::pair<const char*, double>{"ReduceSum", 0},
                                      {"ReduceMax", kMostNegative},
                                      {"ReduceMean", kAnything}}) {
      const auto make = [=, op = op](const Ints& d) {
        return Case(op, {}, {floats(shape(d)), filled(DType::int64, {1}, axis)}, kSecondKnown);
      };
      out.push_back({op, dims, make, nothing});
    }
  out.push_back({"CumSum", dims, [=](const Ints& d) {
                   return Case("CumSum", {}, {floats(shape(d)), filled(DType::int64, {}, int64_t{1})},
                               kSecondKnown);
                 }});
  out.push_back({"Where", dims, [=](const Ints& d) {
                   return Case("Where", {},
                               {filled(DType::boolean, shape(d), true), floats(shape(d)), floats({d[2]})});
                 }});
  out.push_back({"Cast", dims, [=](const Ints& d) {
                   return Case("Cast", {{"to", static_cast<int64_t>(DType::int8)}}, {floats(shape(d))});
                 }});
  out.push_back({"QuantizeLinear", dims, [=](const Ints& d) {
                   return Case("QuantizeLinear", {}, {floats(shape(d)), scale(), zero()});
                 }});
  out.push_back({"QuantizeLinear by an axis", dims, [=](const Ints& d) {
                   return Case("QuantizeLinear", {{"axis", int64_t{1}}},
                               {floats(shape(d)), floats({d[1]}), codes({d[1]})});
                 }});
  out.push_back({"DequantizeLinear", dims, [=](const Ints& d) {
                   return Case("DequantizeLinear", {}, {codes(shape(d)), scale(), zero()});
                 }});
  out.push_back({"DequantizeLinear by an axis", dims, [=](const Ints& d) {
                   return Case("DequantizeLinear", {{"axis", int64_t{1}}},
                               {codes(shape(d)), floats({d[1]}), codes({d[1]})});
                 }});
  // Steps, batch, width.
  for (const auto& [op, gates] : {std::pair<const char*, int64_t>{"LSTM", 4}, {"GRU", 3}, {"RNN", 1}}) {
    const auto make = [op = op, gates = gates](const Ints& d) {
      return Case(op, {{"hidden_size", int64_t{6}}},
                  {floats({d[0], d[1], d[2]}), floats({1, gates * 6, d[2]}), floats({1, gates * 6, 6})},
                  {false, true, true});
    };
    out.push_back({op, {3, 2, 5}, make, kAnything});
  }
  return out;
}

// Selections, orders and samples. Where an operator refuses a dimension of 0, the family leaves it out.
std::vector<Family> selections() {
  std::vector<Family> out;
  const auto shape = [](const Ints& d) { return Shape{d[0], 9, d[1]}; };
  out.push_back({"TopK", {4, 5, 3}, [=](const Ints& d) {
                   return Case("TopK", {{"axis", int64_t{1}}},
                               {floats(shape(d)), filled(DType::int64, {1}, d[2])}, kSecondKnown, 2);
                 }});
  for (const char* op : {"ArgMax", "ArgMin"})
    out.push_back(
        {op, {4, 5}, [=](const Ints& d) { return Case(op, {{"axis", int64_t{1}}}, {floats(shape(d))}); }});
  // The determinant of no rows is that of the empty product.
  out.push_back({"Det", {3}, [](const Ints& d) { return Case("Det", {}, {floats({d[0], 4, 4})}); }});
  out.push_back(
      {"Det of none", {0}, [](const Ints& d) { return Case("Det", {}, {floats({3, d[0], d[0]})}); }, 1});
  // Images, channels, places of the grid.
  out.push_back({"GridSample", {2, 3, 4, 5}, [](const Ints& d) {
                   return Case("GridSample", {}, {floats({d[0], d[1], 6, 7}), floats({d[0], d[2], d[3], 2})});
                 }});
  // Channels, boxes.
  const ir::Attributes boxes{{"output_height", int64_t{2}}, {"output_width", int64_t{3}}};
  out.push_back(
      {"RoiAlign", {3, 4}, [=](const Ints& d) {
         return Case("RoiAlign", boxes,
                     {floats({1, d[0], 6, 7}), floats({d[1], 4}), filled(DType::int64, {d[1]}, int64_t{0})});
       }});
  out.push_back({"MaxPool with indices", {2, 16}, [](const Ints& d) {
                   return Case("MaxPool", window(2), {floats({d[0], d[1], 7, 8})}, {}, 2);
                 }});
  return out;
}

std::vector<double> numbers(const Tensor& t) {
  std::vector<double> out;
  const auto read = [&](auto kind) {
    for (const auto v : t.as<decltype(kind)>()) out.push_back(static_cast<double>(v));
  };
  switch (t.dtype()) {
    case DType::float32: read(float{}); break;
    case DType::float64: read(double{}); break;
    case DType::int64: read(int64_t{}); break;
    case DType::int32: read(int32_t{}); break;
    case DType::int8: read(int8_t{}); break;
    case DType::uint8: read(uint8_t{}); break;
    default: ADD_FAILURE() << dtype_name(t.dtype());
  }
  return out;
}

class EmptyDimensions : public ::testing::Test {
 protected:
  ~EmptyDimensions() override { unsetenv("WALLE_CPU"); }

  void sweep(const std::vector<Family>& families) {
    for (const Family& f : families) {
      for (size_t i = 0; i <= f.dims.size(); ++i) {
        Ints dims = f.dims;
        if (i < dims.size())
          dims[i] = 0;
        else
          dims.assign(dims.size(), 0);
        SCOPED_TRACE(f.name + ", dimension " + std::to_string(i));
        run(f.make(dims), f.nothing);
        if (HasFatalFailure()) return;
      }
    }
  }

 private:
  // By every way of every layout and set. What no kernel claims runs as the operators that it stands for.
  void run(const Case& c, double nothing) {
    for (const kernels::Isa isa : kernels::supported_isas()) {
      setenv("WALLE_CPU", std::string(kernels::isa_name(isa)).c_str(), 1);
      each_way(c, nothing);
    }
    unsetenv("WALLE_CPU");
    each_way(c, nothing);  // with what stands beside the best set
  }

  void each_way(const Case& c, double nothing) {
    for (const Backend* backend : backends_) {
      if (!backend->supports(c.view())) continue;
      for (const int threads : {1, 2})
        for (const Candidate& way : backend->candidates(c.view(), threads)) {
          SCOPED_TRACE(way.algorithm);
          const auto got = c.run_on(*backend, way, threads);
          ASSERT_TRUE(got.ok()) << got.error().message();
          ++ways;
          for (const Tensor& t : *got)
            for (const double v : numbers(t)) ASSERT_TRUE(std::isnan(nothing) || v == nothing) << v;
        }
    }
  }

  const std::vector<const Backend*> backends_ = [] {
    std::vector<const Backend*> all{&cpu::cpu_backend()};
    for (const Backend* layout : cpu::cpu_backend().layouts()) all.push_back(layout);
    return all;
  }();

 public:
  int ways = 0;
};

TEST_F(EmptyDimensions, OfProducts) {
  sweep(products());
  EXPECT_GT(ways, 200);
}

TEST_F(EmptyDimensions, OfConvolutions) {
  sweep(convolutions());
  EXPECT_GT(ways, 50);
}

TEST_F(EmptyDimensions, OfImages) {
  sweep(images());
  EXPECT_GT(ways, 200);
}

TEST_F(EmptyDimensions, OfSelections) {
  sweep(selections());
  EXPECT_GT(ways, 60);
}

TEST_F(EmptyDimensions, OfLines) {
  sweep(lines());
  EXPECT_GT(ways, 200);
}

}  // namespace
}  // namespace walle::backends
