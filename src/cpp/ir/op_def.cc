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

}  // namespace walle::ir
