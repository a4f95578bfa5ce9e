#include "backends/cpu/epilogue.h"

#include "tensor/kinds.h"

namespace walle::backends::cpu {

Result<kernels::Epilogue> epilogue_of(const ir::Attributes& attributes) {
  kernels::Epilogue e;
  // Absent where nothing was folded in: the epilogue that does nothing.
  const std::string name = attributes.get_string("activation", "");
  if (name.empty()) return e;
  const auto activation = tensor::activation_from_name(name);
  if (!activation) return internal_error({"fused activation '", name, "'"}, "cpu epilogue");
  e.activation = *activation;
  e.alpha = static_cast<float>(attributes.get_float("activation_alpha", 0));
  e.beta = static_cast<float>(attributes.get_float("activation_beta", 0));
  return e;
}

}  // namespace walle::backends::cpu
