// PackageParts: the files of installed packages, in a folder of the device under their digests: what tasks
// share lies there once.
//
// Where the file system allows, a file is not copied but gets a second name. Not synchronised.
#pragma once

#include <set>
#include <string>

#include "base/env.h"
#include "link/package/package.h"

namespace walle::container {

class PackageParts {
 public:
  PackageParts(Env& env, std::string dir) : env_(env), dir_(std::move(dir)) {}

  const std::string& dir() const { return dir_; }
  // Every file of the package lies in dir() when it returns, of the size that the package says; whether they
  // have the digests is for whoever opens them. What lies there damaged is replaced.
  Status adopt(const link::Package& package, const std::string& from);
  // Removes what has none of these names. What cannot be removed stays for the next time.
  void keep_only(const std::set<std::string>& names);

 private:
  Status adopt_file(const link::PackageFile& file, const std::string& from);
  Env& env_;
  std::string dir_;
};

}  // namespace walle::container
