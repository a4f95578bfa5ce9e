// Package version: a version of a task, opened from the parts of a package: each file lies in a folder under
// its SHA-256, as 64 hexadecimal digits, and is used where it lies.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/env.h"
#include "container/task/task_version.h"
#include "link/package/package.h"

namespace walle::container {

inline constexpr std::string_view kPackageSuffix = ".walp";

// Where a file of a package lies.
std::string part_path(const std::string& folder, const link::PackageFile& file);

// What can be told before a file is fetched: whether this VM is the one that the code was compiled for, and
// lends every host call that is asked for.
Status check_package(const vm::Vm& vm, const link::Package& package);

// Every file has its size and its digest, and the task's own manifest says what the package says: what a
// server shows of a package, and lets through because of it, is what runs. Large files are mapped, as
// vm::Bundle::load does: they are replaced by a rename and never written in place.
// `digest`: of the manifest, in hexadecimal; it is what TaskVersion::package will say.
Result<std::shared_ptr<const TaskVersion>> open_package(Env& env, const std::shared_ptr<const vm::Vm>& vm,
                                                        const link::Package& package, std::string digest,
                                                        const std::string& folder);

// Whether the file lies there whole.
Result<bool> has_part(Env& env, const std::string& folder, const link::PackageFile& file);

// SHA-256 of a manifest, in hexadecimal.
Result<std::string> package_digest(std::string_view manifest);

}  // namespace walle::container
