// What stands behind a switch that names every kind of an enumeration. Nobody comes there: the compiler names
// the case that a new kind lacks (-Werror=switch, cmake/compiler.cmake), and a number from a file or a caller
// is checked before it becomes a kind. Not std::unreachable(): where such a check is missing after all, that
// runs on into whatever code lies behind, and an answer that claims nothing does not. Debug builds stop.
//
// Not for files that are compiled once per instruction set: an inline function would come out of the linker
// with the flags of whichever file it kept.
#pragma once

namespace walle::base {

inline void unreached() {
#ifndef NDEBUG
  __builtin_trap();
#endif
}

template <class T>
T unreached(T answer) {
  unreached();
  return answer;
}

}  // namespace walle::base
