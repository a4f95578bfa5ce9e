// The IPV code against the formula in double precision.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "stream/operators/ipv.h"

namespace walle::stream {
namespace {

struct Layer {
  std::vector<float> feature = std::vector<float>(kIpvFloats),
                     weights = std::vector<float>(kIpvFloats * kIpvCode), bias = std::vector<float>(kIpvCode),
                     code = std::vector<float>(kIpvCode);

  void encode() {
    ipv_encode(std::span<const float, kIpvFloats>(feature), weights, bias, std::span<float, kIpvCode>(code));
  }
  double wanted(size_t row) const {
    double sum = bias[row];
    for (size_t i = 0; i < kIpvFloats; ++i)
      sum += static_cast<double>(weights[row * kIpvFloats + i]) * feature[i];
    return std::tanh(sum);
  }
};

TEST(Ipv, CodeIsTheLayerOfItsFormula) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  for (const float scale : {0.0f, 0.001f, 0.05f, 0.3f, 10.0f}) {
    Layer layer;
    for (float& v : layer.feature) v = normal(random);
    for (float& v : layer.weights) v = scale * normal(random);
    for (float& v : layer.bias) v = normal(random);
    layer.encode();
    for (size_t row = 0; row < kIpvCode; ++row)
      EXPECT_NEAR(layer.code[row], layer.wanted(row), 5e-6) << "scale " << scale << ", " << row;
  }
}

TEST(Ipv, EveryNumberHasItsTanh) {
  Layer layer;  // zeros: the code is tanh of the bias
  for (int step = -12000; step <= 12000; step += static_cast<int>(kIpvCode)) {
    for (size_t k = 0; k < kIpvCode; ++k)
      layer.bias[k] = static_cast<float>(step + static_cast<int>(k)) / 1000;
    layer.encode();
    for (size_t k = 0; k < kIpvCode; ++k)
      ASSERT_NEAR(layer.code[k], std::tanh(static_cast<double>(layer.bias[k])), 4e-7) << layer.bias[k];
  }
}

TEST(Ipv, EndsAreOneAndNotANumberStaysOne) {
  Layer layer;
  layer.bias[0] = std::numeric_limits<float>::infinity(), layer.bias[1] = -layer.bias[0],
  layer.bias[2] = 1e30f;
  layer.bias[3] = std::numeric_limits<float>::quiet_NaN(), layer.bias[4] = 1e-30f;
  layer.encode();
  EXPECT_EQ(layer.code[0], 1.0f);
  EXPECT_EQ(layer.code[1], -1.0f);
  EXPECT_EQ(layer.code[2], 1.0f);
  EXPECT_TRUE(std::isnan(layer.code[3]));
  EXPECT_FLOAT_EQ(layer.code[4], 1e-30f);
}

}  // namespace
}  // namespace walle::stream
