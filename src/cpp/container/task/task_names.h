// Names that tasks carry: what they may consist of. Names of tasks and tables become folders and files of a
// device, on any system.
#pragma once

#include <string>
#include <string_view>

namespace walle::container {

inline constexpr const char* kTaskNameRule = "1 to 64 of a-z, 0-9, - and _, of which the first is a letter";

bool valid_task_name(std::string_view name);
// A Python identifier of ASCII characters, at most 255 bytes; with `dotted` several of them between dots.
bool valid_identifier(std::string_view name, bool dotted);
// Semantic Versioning 2.0.0: three numbers without leading zeros, then perhaps -pre.release and +build.
bool valid_version(std::string_view version);
// Of a name that may be anything: what fits into a message.
std::string shown_name(std::string_view name);

}  // namespace walle::container
