#include "container/device/package_version.h"

#include <algorithm>
#include <map>

#include "base/bytes.h"
#include "base/mapped_file.h"
#include "link/crypto.h"
#include "vm/isolate.h"

namespace walle::container {

namespace {

// Between two looks of the kernel at other threads; a digest takes 2 to 5 ms for so much.
constexpr size_t kDigestStep = size_t{1} << 20;

std::string title(const link::Package& package) { return "package " + package.task + " " + package.version; }

Error unfit(const link::Package& package, Text given, Text expected, Text next) {
  return task_error(given, expected, title(package), next);
}

Result<std::string> sha256(std::string_view bytes) {
  WALLE_ASSIGN(const link::Crypto* crypto, link::Crypto::system());
  const std::unique_ptr<link::Digest> digest = crypto->digest(link::DigestKind::sha256);
  for (size_t at = 0; at < bytes.size(); at += kDigestStep)
    WALLE_TRY(digest->add(bytes.substr(at, kDigestStep)));
  return digest->finish();
}

// At most `size` bytes and one: a file that grew is not read to its end.
Result<Buffer> bytes_of(Env& env, const std::string& path, uint64_t size, bool map) {
  if (map && &env == &Env::system()) {
    WALLE_ASSIGN(std::shared_ptr<base::MappedFile> file, base::MappedFile::open(path));
    return Buffer::of_file(std::move(file));
  }
  WALLE_ASSIGN(std::string read, env.read_prefix(path, size + 1));
  auto kept = std::make_shared<std::string>(std::move(read));
  return Buffer::window(kept, kept->data(), kept->size());
}

std::string_view text_of(const Buffer& bytes) { return base::as_text(std::span(bytes.data(), bytes.size())); }

Error missing(const link::PackageFile& file, Text path) {
  return task_error({"no file '", path, "'"}, {"file '", file.name, "' of the package"}, "opening a package",
                    "fetch the package again");
}

Error altered(const link::PackageFile& file, Text path, Text given) {
  return task_error({"'", path, "' ", given}, {"file '", file.name, "' as the package lists it"},
                    "opening a package", "fetch the package again");
}

Result<Buffer> open_part(Env& env, const std::string& folder, const link::PackageFile& file) {
  const std::string path = part_path(folder, file);
  const int64_t size = env.file_size(path);
  if (size < 0) return missing(file, path);
  const auto wrong_size = [&](uint64_t is) {
    return altered(file, path, {"of ", is, " bytes instead of ", file.size});
  };
  if (static_cast<uint64_t>(size) != file.size) return wrong_size(static_cast<uint64_t>(size));
  WALLE_ASSIGN(Buffer bytes, bytes_of(env, path, file.size, file.kind == link::FileKind::resource));
  if (bytes.size() != file.size) return wrong_size(bytes.size());
  WALLE_ASSIGN(const std::string digest, sha256(text_of(bytes)));
  if (digest != file.sha256) return altered(file, path, {"with SHA-256 ", link::to_hex(digest)});
  return bytes;
}

Status same(const link::Package& package, const char* what, const std::string& given,
            const std::string& expected) {
  if (given == expected) return {};
  return unfit(package, {what, " '", given, "'"}, {"'", expected, "', as its task says"},
               "pack the task again");
}

Status same(const link::Package& package, const char* what, const std::vector<std::string>& given,
            std::vector<std::string> expected) {
  std::ranges::sort(expected);
  if (given == expected) return {};
  return unfit(package, {what, " that are not those of its task"}, "what the task's manifest says",
               "pack the task again");
}

// A package shows to people and policies what its task says to this device: two tales are none.
Status check_tales(const link::Package& package, const Manifest& task) {
  WALLE_TRY(same(package, "task", package.task, task.name));
  WALLE_TRY(same(package, "version", package.version, task.version));
  WALLE_TRY(same(package, "capabilities", package.capabilities, task.host_calls));
  WALLE_TRY(same(package, "imports", package.imports, task.imports));
  return same(package, "facts", package.facts, task.requires_facts);
}

}  // namespace

std::string part_path(const std::string& folder, const link::PackageFile& file) {
  return folder + "/" + link::to_hex(file.sha256);
}

Result<std::string> package_digest(std::string_view manifest) {
  WALLE_ASSIGN(const std::string raw, sha256(manifest));
  return link::to_hex(raw);
}

Result<bool> has_part(Env& env, const std::string& folder, const link::PackageFile& file) {
  const std::string path = part_path(folder, file);
  if (env.file_size(path) != static_cast<int64_t>(file.size)) return false;
  const Result<Buffer> bytes = bytes_of(env, path, file.size, true);
  if (!bytes.ok()) return false;
  WALLE_ASSIGN(const std::string digest, sha256(text_of(*bytes)));
  return digest == file.sha256;
}

Status check_package(const vm::Vm& vm, const link::Package& package) {
  if (package.vm != vm.id()) {
    return unfit(package, {"code for the VM '", package.vm, "'"}, {"this device's, '", vm.id(), "'"},
                 "release a package of this VM to this device");
  }
  vm::Limits limits;
  limits.host_calls = package.capabilities;
  Status allowed = vm::Isolate::check(vm, limits);
  if (!allowed.ok()) allowed.error().within(title(package));
  return allowed;
}

Result<std::shared_ptr<const TaskVersion>> open_package(Env& env, const std::shared_ptr<const vm::Vm>& vm,
                                                        const link::Package& package, std::string digest,
                                                        const std::string& folder) {
  WALLE_TRY(check_package(*vm, package));
  std::map<std::string_view, Buffer> parts;  // by digest: what files share is looked at once
  Buffer code;
  std::vector<vm::Resource> files;
  for (const link::PackageFile& file : package.files) {
    if (!file.for_devices()) continue;
    auto part = parts.find(file.sha256);
    if (part == parts.end()) {
      WALLE_ASSIGN(Buffer bytes, open_part(env, folder, file));
      part = parts.emplace(file.sha256, std::move(bytes)).first;
    }
    if (file.kind == link::FileKind::code)
      code = part->second;
    else
      files.push_back({file.name, part->second});
  }
  WALLE_ASSIGN(std::shared_ptr<const vm::Bundle> bundle,
               vm::Bundle::open(vm, std::move(code), std::move(files)));
  WALLE_ASSIGN(std::shared_ptr<const TaskVersion> version,
               TaskVersion::open(std::move(bundle), std::move(digest)));
  WALLE_TRY(check_tales(package, version->manifest));
  return version;
}

}  // namespace walle::container
