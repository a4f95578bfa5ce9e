// What a package may say. One that is wrong has been altered or was made by hand: walle_rt packs no such.
#include "link/package/package.h"

#include <algorithm>
#include <map>

#include "base/names.h"

namespace walle::link {

namespace {

constexpr size_t kMaxId = 64;
constexpr size_t kMaxName = 64;  // of a scenario, a fact, a capability, an import
constexpr size_t kShown = 40;

std::string shown(std::string_view name) { return "'" + std::string(name.substr(0, kShown)) + "'"; }

Error wrong(Text given, Text expected) {
  return task_error(given, expected, "the manifest of a package",
                    "pack the task again, or fetch the manifest again");
}

bool plain(char c, std::string_view also) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || also.find(c) != std::string_view::npos;
}

// As walle_rt.cloud.trust has it: it becomes the name of a role, and the first part of a path.
bool valid_scenario(std::string_view name) {
  return !name.empty() && name.size() <= kMaxName && plain(name[0], "") &&
         std::ranges::all_of(name, [](char c) { return plain(c, "_-"); });
}

// Of a VM, of a set of operators.
bool valid_id(std::string_view id) {
  return id.size() <= kMaxId && std::ranges::all_of(id, [](char c) { return plain(c, "._-/+"); });
}

// Names that are compared with those of the task's own manifest, where their grammar is checked: here only
// that they can be shown.
Status check_names(const std::string& what, const std::vector<std::string>& names) {
  if (names.size() > kMostPackageNames) {
    return wrong({names.size(), " ", what}, {"at most ", kMostPackageNames});
  }
  for (const std::string& name : names) {
    if (name.empty() || name.size() > kMaxName ||
        !std::ranges::all_of(name, [](char c) { return c > 0x20 && c < 0x7f; })) {
      return wrong({what, " with ", shown(name)}, "names of 1 to 64 characters of ASCII");
    }
  }
  if (std::ranges::adjacent_find(names, std::greater_equal<>()) != names.end())
    return wrong({what, " that are not sorted, or one of them twice"}, "each once, in order");
  return {};
}

Status check_identity(const Package& package) {
  if (!valid_scenario(package.scenario)) {
    return wrong({"scenario ", shown(package.scenario)},
                 "1 to 64 of a-z, 0-9, - and _, of which the first is a letter or digit");
  }
  if (!base::valid_task_name(package.task)) return wrong({"task ", shown(package.task)}, base::kTaskNameRule);
  if (!base::valid_version(package.version))
    return wrong({"version ", shown(package.version)}, "a semantic version, as 1.0.0");
  if (package.vm.empty() || !valid_id(package.vm))
    return wrong({"VM ", shown(package.vm)}, "the id of a VM, as cpython-3.13.5/walle-2");
  if (!valid_id(package.op_set))
    return wrong({"operators ", shown(package.op_set)}, "the id of a set of operators");
  return {};
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
    return wrong({"file ", shown(file.name), " of kind ", static_cast<int>(file.kind)},
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
        {"file ", shown(file.name), " of kind ", static_cast<int>(file.kind)},
        "code as .walle/code, the cloud's as .walle/cloud, policies below .walle/, resources elsewhere");
  }
  return {};
}

Status check_file(const PackageFile& file) {
  if (!base::valid_part_name(file.name))
    return wrong({"file ", shown(file.name)}, "a relative name of plain parts, at most 255 bytes of UTF-8");
  WALLE_TRY(check_kind(file));
  if (file.sha256.size() != kSha256Bytes) {
    return wrong({"file ", shown(file.name), " with a digest of ", file.sha256.size(), " bytes"},
                 "32 bytes of SHA-256");
  }
  if (file.size > most_bytes(file.kind)) {
    return wrong({"file ", shown(file.name), " of ", file.size, " bytes"},
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
      return wrong({"file ", shown(file.name), " out of order, or twice"}, "names sorted, each once");
    if (sizes.emplace(file.sha256, file.size).first->second != file.size)
      return wrong({"file ", shown(file.name), " of another size than one with its digest"}, "one size");
  }
  for (const std::string_view needed : {kCodeName, kTaskManifestName}) {
    if (package.find(needed) == nullptr) return wrong({"no file ", shown(needed)}, "code and a manifest");
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

std::string Package::path() const { return scenario + "/" + task + "/" + task + "-" + version + ".walp"; }

Status verify_package(const Package& package) {
  WALLE_TRY(check_identity(package));
  WALLE_TRY(check_names("facts", package.facts));
  WALLE_TRY(check_names("capabilities", package.capabilities));
  WALLE_TRY(check_names("imports", package.imports));
  return check_files(package);
}

}  // namespace walle::link
