// What the VM tests share: the libraries of this build, and isolates with one module of source. Without a
// library every test is skipped and says so.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "container/host/host_calls.h"
#include "vm/bundle.h"
#include "vm/isolate.h"
#include "vm/vm.h"

namespace walle::vm {

// WALLE_VM_TEST_DIR names another folder with both libraries: another compiler's, say.
inline std::string library_path(const std::string& flavour) {
#ifdef WALLE_VM_DIR
  std::filesystem::path folder = WALLE_VM_DIR;
#else
  // The program lies in build/<preset>; __FILE__ is of no use where a compiler cache makes it relative.
  std::error_code none;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", none);
  std::filesystem::path folder = program.parent_path().parent_path().parent_path() / "src/python/walle_rt/vm";
#endif
  if (const char* named = std::getenv("WALLE_VM_TEST_DIR")) folder = named;
  return (folder / ("libwalle_vm_" + flavour + ".so")).string();
}

class VmTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(library_path("full")))
      GTEST_SKIP() << "no VM library at " << library_path("full");
    open("full", vm_);
  }

  static void open(const std::string& flavour, std::shared_ptr<const Vm>& vm) {
    Result<std::shared_ptr<const Vm>> opened = Vm::open(library_path(flavour), container::host_calls());
    ASSERT_TRUE(opened.ok()) << opened.error().message();
    vm = *opened;
  }

  // Compiled by the full flavour, run by `vm`.
  std::unique_ptr<Isolate> isolate_on(const std::shared_ptr<const Vm>& vm, const std::string& source,
                                      Limits limits = {}, TaskContext context = {}) {
    Result<std::string> bytes = vm_->compile({{"main", "main.py", source, false}});
    EXPECT_TRUE(bytes.ok()) << bytes.error().message();
    Result<std::shared_ptr<const Bundle>> bundle = Bundle::open(vm, *bytes);
    EXPECT_TRUE(bundle.ok()) << bundle.error().message();
    Result<std::unique_ptr<Isolate>> made = Isolate::create(vm, std::move(limits), std::move(context));
    EXPECT_TRUE(made.ok()) << made.error().message();
    std::unique_ptr<Isolate> out = std::move(made).value();
    EXPECT_TRUE(out->attach(*bundle).ok());
    return out;
  }

  std::unique_ptr<Isolate> isolate(const std::string& source, Limits limits = {}, TaskContext context = {}) {
    return isolate_on(vm_, source, std::move(limits), std::move(context));
  }

  std::shared_ptr<const Vm> vm_;
};

}  // namespace walle::vm
