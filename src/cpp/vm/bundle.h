// Bundle: compiled modules of one task, checked byte by byte before anything is built from them.
//
// Immutable and shared between isolates. A bundle may only be opened by the VM whose id it was compiled for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "vm/vm.h"

namespace walle::vm {

class Bundle {
 public:
  static Result<std::shared_ptr<const Bundle>> open(std::shared_ptr<const Vm> vm, std::string bytes);
  ~Bundle();
  Bundle(const Bundle&) = delete;
  Bundle& operator=(const Bundle&) = delete;

  std::vector<std::string> modules() const;
  const std::string& bytes() const { return bytes_; }
  const Vm& vm() const { return *vm_; }
  walle_vm_bundle* handle() const { return handle_; }

 private:
  Bundle(std::shared_ptr<const Vm> vm, std::string bytes) : vm_(std::move(vm)), bytes_(std::move(bytes)) {}
  std::shared_ptr<const Vm> vm_;
  std::string bytes_;
  walle_vm_bundle* handle_ = nullptr;
};

}  // namespace walle::vm
