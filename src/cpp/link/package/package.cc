// What a package may say. One that is wrong has been altered or was made by hand: walle_rt packs no such.
#include "link/package/package.h"

#include <algorithm>
#include <map>

#include "base/names.h"

namespace walle::link {

using base::NameKind;

namespace {

constexpr const char* kPackageWhere = "the manifest of a package";

Error wrong(Text given, Text expected) {
  return task_error(given, expected, kPackageWhere, "pack the task again, or fetch the manifest again");
}

Status check_part_name(NameKind kind, std::string_view name) {
  return base::check_name(kind, name, kPackageWhere, base::ErrorGroup::task);
}

Status check_names(const char* what, NameKind kind, const std::vector<std::string>& names) {
  if (names.size() > kMostPackageNames)
    return wrong({names.size(), " ", what}, {"at most ", kMostPackageNames});
  for (const std::string& name : names) WALLE_TRY(check_part_name(kind, name));
  if (std::ranges::adjacent_find(names, std::greater_equal<>()) != names.end())
    return wrong({what, " that are not sorted, or one of them twice"}, "each once, in order");
  return {};
}

Status check_identity(const Package& package) {
  WALLE_TRY(check_part_name(NameKind::scenario, package.scenario));
  WALLE_TRY(check_part_name(NameKind::task, package.task));
  WALLE_TRY(check_part_name(NameKind::version, package.version));
  WALLE_TRY(check_part_name(NameKind::vm, package.vm));
  return package.op_set.empty() ? Status() : check_part_name(NameKind::op_set, package.op_set);
}

uint64_t most_bytes(FileKind kind) {
  switch (kind) {
    case FileKind::code: return kMostCodeBytes;
    case FileKind::policy: return kMostPolicyBytes;
    case FileKind::resource:
    case FileKind::cloud: return kMostContentBytes;
  }
  return 0;
}

Status check_kind(const PackageFile& file) {
  if (file.kind > FileKind::cloud)
    return wrong({"file ", base::shown_name(file.name), " of kind ", static_cast<int>(file.kind)},
                 "0 code, 1 resource, 2 policy or 3 cloud");
  const bool reserved = file.name.starts_with(kReservedFolder);
  const bool is_code = file.name == kCodeName;
  const bool is_cloud_code = file.name == kCloudCodeName;
  const bool fits = file.kind == FileKind::cloud
                        ? is_cloud_code || !reserved
                        : !is_cloud_code && is_code == (file.kind == FileKind::code) &&
                              reserved == (file.kind != FileKind::resource);
  if (!fits) {
    return wrong(
        {"file ", base::shown_name(file.name), " of kind ", static_cast<int>(file.kind)},
        "code as .walle/code, the cloud's as .walle/cloud, policies below .walle/, resources elsewhere");
  }
  return {};
}

Status check_file(const PackageFile& file) {
  WALLE_TRY(check_part_name(NameKind::file, file.name));
  WALLE_TRY(check_kind(file));
  if (file.sha256.size() != kSha256Bytes) {
    return wrong({"file ", base::shown_name(file.name), " with a digest of ", file.sha256.size(), " bytes"},
                 "32 bytes of SHA-256");
  }
  if (file.size > most_bytes(file.kind)) {
    return wrong({"file ", base::shown_name(file.name), " of ", file.size, " bytes"},
                 {"at most ", most_bytes(file.kind)});
  }
  return {};
}

Status check_files(const Package& package) {
  if (package.files.size() > kMostPackageFiles) {
    return wrong({package.files.size(), " files"}, {"at most ", kMostPackageFiles});
  }
  std::map<std::string_view, uint64_t> sizes;
  for (size_t i = 0; i < package.files.size(); ++i) {
    const PackageFile& file = package.files[i];
    WALLE_TRY(check_file(file));
    if (i > 0 && file.name <= package.files[i - 1].name)
      return wrong({"file ", base::shown_name(file.name), " out of order, or twice"},
                   "names sorted, each once");
    if (sizes.emplace(file.sha256, file.size).first->second != file.size)
      return wrong({"file ", base::shown_name(file.name), " of another size than one with its digest"},
                   "one size");
  }
  for (const std::string_view needed : {kCodeName, kTaskManifestName}) {
    if (package.find(needed) == nullptr)
      return wrong({"no file ", base::shown_name(needed)}, "code and a manifest");
  }
  if (package.content_bytes() > kMostContentBytes) {
    return wrong({"files of ", package.content_bytes(), " bytes"},
                 {"at most ", kMostContentBytes, " together"});
  }
  return {};
}

}  // namespace

uint64_t Package::content_bytes() const {
  std::map<std::string_view, uint64_t> sizes;
  for (const PackageFile& file : files) sizes.emplace(file.sha256, file.size);
  uint64_t sum = 0;
  for (const auto& [_, size] : sizes) sum += size;
  return sum;
}

const PackageFile* Package::find(std::string_view name) const {
  const auto at = std::ranges::lower_bound(
      files, name, {}, [](const PackageFile& file) { return std::string_view(file.name); });
  return at != files.end() && at->name == name ? &*at : nullptr;
}

std::string Package::path() const { return base::package_path(scenario, task, version); }

Status verify_package(const Package& package) {
  WALLE_TRY(check_identity(package));
  WALLE_TRY(check_names("facts", NameKind::fact, package.facts));
  WALLE_TRY(check_names("capabilities", NameKind::host_call, package.capabilities));
  WALLE_TRY(check_names("imports", NameKind::library, package.imports));
  return check_files(package);
}

}  // namespace walle::link
