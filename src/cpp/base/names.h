// What names that come from a server may consist of: those of tasks, of their versions, of the parts of a
// bundle. Names of tasks and tables become folders and files of a device, on any system.
#pragma once

#include <string_view>

namespace walle::base {

inline constexpr const char* kTaskNameRule = "1 to 64 of a-z, 0-9, - and _, of which the first is a letter";

bool valid_task_name(std::string_view name);
// Semantic Versioning 2.0.0, at most 64 bytes: three numbers of at most nine digits without leading zeros,
// then perhaps -pre.release and +build.
bool valid_version(std::string_view version);
// Relative, of plain components: no empty one, no "." or "..", no backslash or control character; at most 255
// bytes of UTF-8.
bool valid_part_name(std::string_view name);

}  // namespace walle::base
