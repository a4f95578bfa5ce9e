// A second name for a file that is there: installing it costs no copy.
#pragma once

#include <string>

#include "base/status.h"

namespace walle::base {

// `to` becomes another name of the regular file `from`, whole or not at all, in the place of what had the
// name; bytes and name are durable when it returns. An error where the file system has no such thing: another
// volume, FAT, the data of an Android app. The two stay one file: neither is to be written in place.
Status link_file(const std::string& from, const std::string& to);

}  // namespace walle::base
