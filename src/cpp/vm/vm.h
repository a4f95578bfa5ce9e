// Vm: one loaded VM library. Opened once per path and kept for the life of the process (CPython cannot be
// unloaded).
//
// A VM has the host calls that it was first opened with. Thread-safe. Looked for at: the path given,
// WALLE_VM_LIBRARY, beside the running module (walle_rt/vm).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "vm/abi.h"
#include "vm/host_call.h"
#include "vm/outcome.h"

namespace walle::vm {

struct Source {
  std::string name;  // dotted module name
  std::string file;  // shown in tracebacks
  std::string text;
  bool is_package = false;
};

class Vm {
 public:
  // An argument error where the library is open already, with other host calls.
  static Result<std::shared_ptr<const Vm>> open(const std::string& path, const HostCalls& calls);

  std::string id() const { return api_->id; }
  std::string flavour() const { return api_->flavour; }
  std::string python() const { return api_->python; }
  bool can_compile() const { return api_->compile != nullptr; }
  std::vector<std::string> library() const;

  // Full flavour: sources to the bytes of a bundle. A syntax error comes back as a task error with file and
  // line. Runs on a thread of its own with a large stack, because the compiler recurses with the nesting of
  // the source. What it warns of are lines of `log`: "main.py:3: SyntaxWarning: ...".
  Result<std::string> compile(const std::vector<Source>& sources,
                              std::vector<std::string>* log = nullptr) const;

  std::span<const HostCall> host_calls() const { return calls_; }
  // One flag per host call: named as "walle.kv.get", or its whole module as "walle.kv". An unknown name is an
  // error.
  Result<std::vector<uint8_t>> allowed(const std::vector<std::string>& names) const;

  const wvm_api& api() const { return *api_; }

 private:
  Vm(const wvm_api* api, std::span<const HostCall> calls) : api_(api), calls_(calls) {}
  const wvm_api* api_;
  std::span<const HostCall> calls_;
};

Error task_error(const Failure& failure, Text where);

}  // namespace walle::vm
