// Numbers that Python's IntEnums stand for, checked: any int passes where an IntEnum is asked for.
#pragma once

#include <string>

#include "pybind/errors.h"

namespace walle::pybind {

// `last` is the enumeration's last member; members count from 0.
template <class Enum>
Enum enum_of(int number, Enum last, const char* what) {
  const int highest = static_cast<int>(last);
  if (number < 0 || number > highest)
    throw CoreError(argument_error({what, " ", number}, {"0 to ", highest}, "an enumeration",
                                   "pass a member of the enumeration"));
  return static_cast<Enum>(number);
}

}  // namespace walle::pybind
