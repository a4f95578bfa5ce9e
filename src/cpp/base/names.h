// What names may consist of: those of tasks, of their parts and versions, of what a server keeps about them.
// Each kind has one rule and one message, whichever way a name comes: written by an author, read from a file,
// sent over a network.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace walle::base {

struct NameShape;

enum class NameKind : uint8_t {
#define WALLE_NAME(kind, word, shape, least, most, reserved, next) kind,
#include "base/name_kind.inc"
#undef WALLE_NAME
};

struct NameRule {
  std::string_view kind;      // "host_call"
  std::string_view word;      // "host call", as messages say it
  const NameShape& shape;     // base/name_shapes.h
  size_t least, most;         // bytes
  std::string_view reserved;  // words between blanks
  std::string_view next;      // what to do about a name that is none

  std::string expected() const;  // "1 to 64 of a-z, ..."
};

std::span<const NameRule> name_rules();  // by kind
const NameRule& name_rule(NameKind kind);

bool valid_name(NameKind kind, std::string_view name);
// The error about a name that is none: of group argument, or of another for one that was read from a file.
Status check_name(NameKind kind, std::string_view name, std::string_view where,
                  ErrorGroup group = ErrorGroup::argument);
// In quotes, and cut where it is long: a name that is refused may be anything.
std::string shown_name(std::string_view name);

// Where a repository lists a package: "<scenario>/<task>/<task>-<version>.walp".
std::string package_path(std::string_view scenario, std::string_view task, std::string_view version);
// Scenario, task and version of such a path; nothing where it is none.
std::optional<std::array<std::string_view, 3>> package_names(std::string_view path);

}  // namespace walle::base
