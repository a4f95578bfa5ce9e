// Vm: one loaded VM library. Opened once per path and kept for the life of the process (CPython cannot be
// unloaded).
//
// Thread-safe. Looked for at: the path given, WALLE_VM_LIBRARY, beside the running module (walle_rt/vm).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "vm/abi.h"
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
  static Result<std::shared_ptr<const Vm>> open(const std::string& path);

  std::string id() const { return api_->id; }
  std::string flavour() const { return api_->flavour; }
  std::string python() const { return api_->python; }
  bool can_compile() const { return api_->compile != nullptr; }
  std::vector<std::string> library() const;

  // Full flavour: sources to the bytes of a bundle. A syntax error comes back as a task error with file and
  // line. Runs on a thread of its own with a large stack, because the compiler recurses with the nesting of
  // the source.
  Result<std::string> compile(const std::vector<Source>& sources) const;

  const wvm_api& api() const { return *api_; }

 private:
  explicit Vm(const wvm_api* api) : api_(api) {}
  const wvm_api* api_;
};

Error task_error(const Failure& failure, const std::string& where);

}  // namespace walle::vm
