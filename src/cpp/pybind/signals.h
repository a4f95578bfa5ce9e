// Signals that arrive while Python's main thread is inside a call of an isolate: their handlers run
// meanwhile, and what one of them raises (KeyboardInterrupt, above all) ends the call and is raised in its
// place.
#pragma once

#include <pybind11/pybind11.h>

#include <optional>

#include "pybind/python_lock.h"
#include "vm/attention.h"

namespace walle::pybind {

// Lives around one call; destroyed with Python's lock. Inline, as every call makes one.
class Signals : public vm::Attention {
 public:
  Signals() = default;
  ~Signals() override {
    if (attended_) innermost_ = outer_;
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // What the call shall attend to; once, when it begins. nullptr on any thread but the main one: Python runs
  // no handlers there. The lock that is given away for the call knows its thread already.
  vm::Attention* attention(const PythonUnlocked& unlocked) {
    if (!unlocked.on_main_thread()) return nullptr;
    attended_ = true;
    outer_ = innermost_;
    innermost_ = this;
    return this;
  }
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

  bool attended_ = false;
  Signals* outer_ = nullptr;
  std::optional<pybind11::error_already_set> raised_;
};

}  // namespace walle::pybind
