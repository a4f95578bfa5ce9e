#include "vm/bundle.h"

namespace walle::vm {

Result<std::shared_ptr<const Bundle>> Bundle::open(std::shared_ptr<const Vm> vm, std::string bytes) {
  std::shared_ptr<Bundle> bundle(new Bundle(std::move(vm), std::move(bytes)));
  char error[256] = "";
  const auto* data = reinterpret_cast<const uint8_t*>(bundle->bytes_.data());
  bundle->handle_ = bundle->vm_->api().bundle_open(data, bundle->bytes_.size(), error, sizeof error);
  if (bundle->handle_ == nullptr) {
    return Error(base::ErrorGroup::task, {"a task bundle of " + std::to_string(bundle->bytes_.size()) + " bytes: " + error,
                                          "bytes that TaskBundle.compile wrote for VM '" + bundle->vm_->id() + "'", "opening a task bundle",
                                          "compile the task again for this VM"});
  }
  return std::shared_ptr<const Bundle>(std::move(bundle));
}

Bundle::~Bundle() {
  if (handle_ != nullptr) vm_->api().bundle_release(handle_);
}

std::vector<std::string> Bundle::modules() const {
  std::vector<const char*> names(vm_->api().bundle_modules(handle_, nullptr, 0));
  vm_->api().bundle_modules(handle_, names.data(), names.size());
  std::vector<std::string> out;
  for (const char* name : names) {
    out.emplace_back(name);
    free(const_cast<char*>(name));
  }
  return out;
}

}  // namespace walle::vm
