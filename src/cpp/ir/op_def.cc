#include "ir/op_def.h"

namespace walle::ir {

std::string_view op_class_name(OpClass op_class) {
  switch (op_class) {
    case OpClass::atomic: return "atomic";
    case OpClass::transform: return "transform";
    case OpClass::composite: return "composite";
    case OpClass::control: return "control";
  }
  return "atomic";
}

std::string_view numeric_class_name(NumericClass numeric) {
  switch (numeric) {
    case NumericClass::exact: return "exact";
    case NumericClass::elementwise: return "elementwise";
    case NumericClass::accumulation: return "accumulation";
  }
  return "exact";
}

}  // namespace walle::ir
