#include "container/device/package_parts.h"

#include "base/bytes.h"
#include "base/link_file.h"
#include "base/mapped_file.h"
#include "container/device/package_version.h"
#include "link/crypto.h"

namespace walle::container {

namespace {

Status copy(Env& env, const std::string& from, const std::string& to) {
  if (&env == &Env::system()) {
    WALLE_ASSIGN(const std::shared_ptr<base::MappedFile> file, base::MappedFile::open(from));
    return env.replace_file(to, base::as_text(file->bytes()));
  }
  WALLE_ASSIGN(const std::string bytes, env.read_file(from));
  return env.replace_file(to, bytes);
}

}  // namespace

Status PackageParts::adopt(const link::Package& package, const std::string& from) {
  WALLE_TRY(env_.make_dirs(dir_));
  std::set<std::string_view> seen;
  for (const link::PackageFile& file : package.files) {
    if (file.for_devices() && seen.insert(file.sha256).second) WALLE_TRY(adopt_file(file, from));
  }
  return {};
}

Status PackageParts::adopt_file(const link::PackageFile& file, const std::string& from) {
  WALLE_ASSIGN(const bool there, has_part(env_, dir_, file));
  if (there) return {};
  const std::string source = part_path(from, file);
  const int64_t size = env_.file_size(source);
  if (size != static_cast<int64_t>(file.size)) {
    return Error(
        base::ErrorGroup::task,
        {size < 0 ? "no file '" + source + "'" : "'" + source + "' of " + std::to_string(size) + " bytes",
         "file '" + file.name + "' of " + std::to_string(file.size) + " bytes", "installing a package",
         "fetch the package again"});
  }
  const std::string target = part_path(dir_, file);
  if (&env_ == &Env::system() && base::link_file(source, target).ok()) return {};
  return copy(env_, source, target);
}

void PackageParts::keep_only(const std::set<std::string>& names) {
  auto files = env_.list_files(dir_);
  if (!files.ok()) return;
  for (const std::string& file : *files) {
    if (!names.contains(file)) (void)env_.remove_file(dir_ + "/" + file).ok();
  }
}

}  // namespace walle::container
