#include "vm/bundle.h"

#include <algorithm>
#include <cstdlib>

#include "base/bytes.h"
#include "base/mapped_file.h"
#include "base/names.h"

namespace walle::vm {

namespace {

// Copying so much takes a tenth of a millisecond, once. What lies in a mapped file that somebody truncates
// ends the process with SIGBUS when it is looked at: only what is too large to copy is left to that.
constexpr size_t kCopied = size_t{1} << 20;

Result<Buffer> copied(const Buffer& bytes) {
  WALLE_ASSIGN(Buffer copy, Buffer::allocate(bytes.size()));
  std::copy_n(bytes.data(), bytes.size(), copy.data());
  const std::byte* data = copy.data();
  return Buffer::window(std::make_shared<Buffer>(std::move(copy)), data, bytes.size());
}

}  // namespace

Result<std::shared_ptr<const Bundle>> Bundle::open(std::shared_ptr<const Vm> vm, std::string bytes) {
  auto kept = std::make_shared<std::string>(std::move(bytes));
  return open(std::move(vm), Buffer::window(kept, kept->data(), kept->size()));
}

Result<std::shared_ptr<const Bundle>> Bundle::load(std::shared_ptr<const Vm> vm, const std::string& path) {
  WALLE_ASSIGN(std::shared_ptr<base::MappedFile> file, base::MappedFile::open(path));
  const std::span<const std::byte> bytes = file->bytes();
  const Buffer mapped = Buffer::of_file(std::move(file));
  if (bytes.size() <= kCopied) {
    WALLE_ASSIGN(Buffer read, copied(mapped));
    return open(std::move(vm), std::move(read));
  }
  std::shared_ptr<Bundle> bundle(new Bundle(std::move(vm), mapped));
  WALLE_TRY(bundle->read_parts());
  WALLE_ASSIGN(bundle->file_.code, copied(bundle->file_.code));
  for (Resource& resource : bundle->file_.resources) {
    if (resource.bytes.size() > kCopied) continue;
    WALLE_ASSIGN(resource.bytes, copied(resource.bytes));
  }
  for (Resource& source : bundle->file_.sources) {
    WALLE_ASSIGN(source.bytes, copied(source.bytes));
  }
  WALLE_TRY(bundle->open_code());
  return std::shared_ptr<const Bundle>(std::move(bundle));
}

Result<std::shared_ptr<const Bundle>> Bundle::open(std::shared_ptr<const Vm> vm, Buffer bytes) {
  std::shared_ptr<Bundle> bundle(new Bundle(std::move(vm), std::move(bytes)));
  WALLE_TRY(bundle->read_parts());
  WALLE_TRY(bundle->open_code());
  return std::shared_ptr<const Bundle>(std::move(bundle));
}

Result<std::shared_ptr<const Bundle>> Bundle::open(std::shared_ptr<const Vm> vm, Buffer code,
                                                   std::vector<Resource> files) {
  std::ranges::sort(files, {}, &Resource::name);
  for (size_t i = 0; i < files.size(); ++i) {
    const std::string& name = files[i].name;
    WALLE_TRY(base::check_name(base::NameKind::file, name, "opening a task bundle from parts"));
    if (i > 0 && name == files[i - 1].name) {
      return argument_error({"file '", name, "' twice"}, "each once", "opening a task bundle from parts",
                            "rename one");
    }
  }
  std::shared_ptr<Bundle> bundle(new Bundle(std::move(vm), std::move(code)));
  bundle->file_.code = bundle->bytes_;
  bundle->file_.resources = std::move(files);
  WALLE_TRY(bundle->open_code());
  return std::shared_ptr<const Bundle>(std::move(bundle));
}

Status Bundle::read_parts() {
  // Without its version, so that another version of a task file is told as such and not as strange code.
  if (base::as_text(std::span(bytes_.data(), bytes_.size())).starts_with("WTASK")) {
    WALLE_ASSIGN(file_, read_task_file(bytes_));
  } else {
    file_.code = bytes_;
  }
  return {};
}

Status Bundle::open_code() {
  const Buffer& code = file_.code;
  char error[256] = "";  // one sentence; a longer one is cut
  handle_ =
      vm_->api().bundle_open(reinterpret_cast<const uint8_t*>(code.data()), code.size(), error, sizeof error);
  if (handle_ != nullptr) return {};
  return base::task_error({"a task bundle of ", bytes_.size(), " bytes: ", error},
                          {"bytes that TaskBundle.compile wrote for VM '", vm_->id(), "'"},
                          "opening a task bundle", "compile the task again for this VM");
}

namespace {

const Resource* find_in(const std::vector<Resource>& sorted, std::string_view name) {
  const auto at = std::lower_bound(
      sorted.begin(), sorted.end(), name,
      [](const Resource& resource, std::string_view wanted) { return resource.name < wanted; });
  return at != sorted.end() && at->name == name ? &*at : nullptr;
}

}  // namespace

const Resource* Bundle::find(std::string_view name) const { return find_in(file_.resources, name); }

std::string Bundle::source_line(std::string_view file, int number) const {
  if (const auto kept = sources_.find(file); kept != sources_.end()) return line_of(kept->second, number);
  const Resource* part = find_in(file_.sources, file);
  if (part == nullptr) return "";
  return line_of(base::as_text(std::span(part->bytes.data(), part->bytes.size())), number);
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
