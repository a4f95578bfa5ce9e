// Bundle: compiled modules of one task and its resources, checked byte by byte before anything is built from
// them.
//
// Immutable and shared between isolates, but for the sources that whoever compiled it may add before anybody
// else has it. A bundle may only be opened by the VM whose id it was compiled for.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "vm/task_file.h"
#include "vm/vm.h"

namespace walle::vm {

class Bundle {
 public:
  static Result<std::shared_ptr<const Bundle>> open(std::shared_ptr<const Vm> vm, std::string bytes);
  // Shares the bytes, which must not change.
  static Result<std::shared_ptr<const Bundle>> open(std::shared_ptr<const Vm> vm, Buffer bytes);
  // From parts that lie apart: `code` is the bytecode container alone, `files` its resources, in any order
  // and used where they lie. Their bytes are the caller's word (a digest, say); names are checked, one file a
  // name.
  static Result<std::shared_ptr<const Bundle>> open(std::shared_ptr<const Vm> vm, Buffer code,
                                                    std::vector<Resource> files);
  // Small files are read; large ones are mapped, and their large resources are used where they lie. Such a
  // file must not be truncated or written while the bundle lives: it is replaced by renaming another one to
  // its name.
  static Result<std::shared_ptr<const Bundle>> load(std::shared_ptr<const Vm> vm, const std::string& path);
  ~Bundle();
  Bundle(const Bundle&) = delete;
  Bundle& operator=(const Bundle&) = delete;

  std::vector<std::string> modules() const;
  const std::vector<Resource>& resources() const { return file_.resources; }
  // The text of line `number` (from 1) of a module's file, stripped; empty where the sources are not there.
  std::string source_line(std::string_view file, int number) const;
  void keep_source(std::string file, std::string text) { sources_[std::move(file)] = std::move(text); }
  // nullptr: no such resource.
  const Resource* find(std::string_view name) const;
  // What it was opened from; of parts, the code.
  const Buffer& bytes() const { return bytes_; }
  const Vm& vm() const { return *vm_; }
  wvm_bundle* handle() const { return handle_; }

 private:
  Bundle(std::shared_ptr<const Vm> vm, Buffer bytes) : vm_(std::move(vm)), bytes_(std::move(bytes)) {}
  Status read_parts();
  Status open_code();
  std::shared_ptr<const Vm> vm_;
  Buffer bytes_;
  TaskFile file_;
  std::map<std::string, std::string, std::less<>> sources_;
  wvm_bundle* handle_ = nullptr;
};

}  // namespace walle::vm
