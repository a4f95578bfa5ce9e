// Names that tasks carry: what they may consist of.
#pragma once

#include <string>
#include <string_view>

#include "base/names.h"

namespace walle::container {

using base::kTaskNameRule;
using base::valid_task_name;
using base::valid_version;

// A Python identifier of ASCII characters, at most 255 bytes; with `dotted` several of them between dots.
bool valid_identifier(std::string_view name, bool dotted);
// Of a name that may be anything: what fits into a message.
std::string shown_name(std::string_view name);

}  // namespace walle::container
