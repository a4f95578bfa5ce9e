#include "backends/cpu/epilogue.h"

#include <array>

namespace walle::backends::cpu {

namespace {
using kernels::Activation;
constexpr std::array<std::pair<std::string_view, Activation>, 9> kNames{{
    {"Clamp", Activation::clamp},
    {"LeakyRelu", Activation::leaky_relu},
    {"Sigmoid", Activation::sigmoid},
    {"Silu", Activation::silu},
    {"Tanh", Activation::tanh},
    {"HardSigmoid", Activation::hard_sigmoid},
    {"HardSwish", Activation::hard_swish},
    {"Gelu", Activation::gelu},
    {"GeluTanh", Activation::gelu_tanh},
}};
}  // namespace

Result<kernels::Epilogue> epilogue_of(const ir::Attributes& attributes) {
  kernels::Epilogue e;
  const std::string name = attributes.get_string("activation", "");
  if (name.empty()) return e;
  for (const auto& [known, activation] : kNames)
    if (known == name) e.activation = activation;
  if (e.activation == Activation::none)
    return internal_error("fused activation '" + name + "'", "cpu epilogue");
  e.alpha = static_cast<float>(attributes.get_float("activation_alpha", 0));
  e.beta = static_cast<float>(attributes.get_float("activation_beta", 0));
  return e;
}

}  // namespace walle::backends::cpu
