// Signals that arrive while Python's main thread is inside a call of an isolate: their handlers run
// meanwhile, and what one of them raises (KeyboardInterrupt, above all) ends the call and is raised in its
// place.
#pragma once

#include <pybind11/pybind11.h>

#include <optional>

#include "pybind/python_lock.h"
#include "vm/attention.h"

namespace walle::pybind {

// Lives around one call; made and destroyed with Python's lock. Inline, as every call makes one.
class Signals : public vm::Attention {
 public:
  Signals() : on_main_thread_(on_main_thread()), outer_(innermost_) {
    if (on_main_thread_) innermost_ = this;
  }
  ~Signals() override {
    if (on_main_thread_) innermost_ = outer_;
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // What the call shall attend to: nullptr on any other thread, where Python runs no handlers.
  vm::Attention* attention() { return on_main_thread_ ? this : nullptr; }
  bool must_stop() override;
  // After the call.
  void rethrow() {
    if (raised_) [[unlikely]]
      throw pybind11::error_already_set(std::move(*raised_));
  }

  // From a callback of the call that runs on this thread: true where the error will end the call.
  static bool take(pybind11::error_already_set& error);

 private:
  // The main thread's alone: no need for a thread's own variable, whose address takes a call to find.
  static Signals* innermost_;

  bool on_main_thread_;
  Signals* outer_;
  std::optional<pybind11::error_already_set> raised_;
};

}  // namespace walle::pybind
