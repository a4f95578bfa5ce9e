// Signals that arrive while Python's main thread is inside a call of an isolate: their handlers run
// meanwhile, and what one of them raises (KeyboardInterrupt, above all) ends the call and is raised in its
// place.
#pragma once

#include <pybind11/pybind11.h>

#include <optional>

#include "pybind/python_lock.h"
#include "vm/attention.h"

namespace walle::pybind {

// Lives around one call; made and destroyed with Python's lock.
class Signals : public vm::Attention {
 public:
  Signals();
  ~Signals() override;
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // What the call shall attend to: nullptr on any other thread, where Python runs no handlers.
  vm::Attention* attention() { return on_main_thread_ ? this : nullptr; }
  bool must_stop() override;
  // After the call.
  void rethrow();

  // From a callback of the call that runs on this thread: true where the error will end the call.
  static bool take(pybind11::error_already_set& error);

 private:
  bool on_main_thread_;
  Signals* outer_;
  std::optional<pybind11::error_already_set> raised_;
};

}  // namespace walle::pybind
