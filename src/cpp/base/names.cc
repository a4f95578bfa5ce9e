#include "base/names.h"

#include <algorithm>

#include "base/name_shapes.h"

namespace walle::base {

namespace {

constexpr size_t kShownName = 60;
constexpr std::string_view kPackageSuffix = ".walp";

// Names of devices to Windows, in every folder.
#define WALLE_SYSTEM_FILES                                                       \
  "con prn aux nul com1 com2 com3 com4 com5 com6 com7 com8 com9 lpt1 lpt2 lpt3 " \
  "lpt4 lpt5 lpt6 lpt7 lpt8 lpt9"

constexpr NameRule kRules[] = {
#define WALLE_NAME(kind, word, shape, least, most, reserved, next) \
  {#kind, word, name_shapes::shape, least, most, reserved, next},
#include "base/name_kind.inc"
#undef WALLE_NAME
};

bool is_reserved(std::string_view words, std::string_view name) {
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find(' '));
    if (word == name) return true;
    words.remove_prefix(std::min(word.size() + 1, words.size()));
  }
  return false;
}

}  // namespace

std::string NameRule::expected() const {
  std::string out = least == most ? "" : std::to_string(least) + " to ";
  out += std::to_string(most) + " ";
  return out += shape.letters;
}

std::span<const NameRule> name_rules() { return kRules; }

const NameRule& name_rule(NameKind kind) { return kRules[static_cast<size_t>(kind)]; }

bool valid_name(NameKind kind, std::string_view name) {
  const NameRule& rule = name_rule(kind);
  return name.size() >= rule.least && name.size() <= rule.most && rule.shape.fits(name) &&
         !is_reserved(rule.reserved, name);
}

Status check_name(NameKind kind, std::string_view name, std::string_view where, ErrorGroup group) {
  if (valid_name(kind, name)) return {};
  const NameRule& rule = name_rule(kind);
  std::string expected = rule.expected();
  if (is_reserved(rule.reserved, name)) (expected += ", none of ") += rule.reserved;
  return Error(group, {.given = std::string(rule.word) + " " + shown_name(name),
                       .expected = std::move(expected),
                       .where = std::string(where),
                       .next = std::string(rule.next)});
}

std::string shown_name(std::string_view name) {
  if (name.size() <= kShownName) return "'" + std::string(name) + "'";
  return "'" + std::string(name.substr(0, kShownName)) + "...' of " + std::to_string(name.size()) + " bytes";
}

std::string package_path(std::string_view scenario, std::string_view task, std::string_view version) {
  std::string out(scenario);
  ((out += "/") += task) += "/";
  ((out += task) += "-") += version;
  return out += kPackageSuffix;
}

std::optional<std::array<std::string_view, 3>> package_names(std::string_view path) {
  const std::string_view scenario = path.substr(0, path.find('/'));
  std::string_view rest = path.substr(std::min(scenario.size() + 1, path.size()));
  const std::string_view task = rest.substr(0, rest.find('/'));
  const size_t around = 2 * task.size() + 2 + kPackageSuffix.size();  // TASK/TASK-VERSION.walp
  if (rest.size() < around) return std::nullopt;
  const std::string_view version = rest.substr(2 * task.size() + 2, rest.size() - around);
  if (package_path(scenario, task, version) != path || !valid_name(NameKind::scenario, scenario) ||
      !valid_name(NameKind::task, task) || !valid_name(NameKind::version, version))
    return std::nullopt;
  return std::array{scenario, task, version};
}

}  // namespace walle::base
