#include "container/task/task_names.h"

#include <algorithm>

namespace walle::container {

namespace {

constexpr size_t kMaxName = 64;
constexpr size_t kMaxIdentifier = 255;
constexpr size_t kMaxVersion = 64;
constexpr size_t kShown = 40;

bool digit(char c) { return c >= '0' && c <= '9'; }
bool lower(char c) { return c >= 'a' && c <= 'z'; }
bool letter(char c) { return lower(c) || (c >= 'A' && c <= 'Z'); }

// Whether every part between the dots passes `fits`, and there is one.
template <class Fits>
bool every_part(std::string_view text, Fits fits) {
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('.', at), text.size());
    if (end == at || !fits(text.substr(at, end - at))) return false;
    at = end + 1;
  }
  return true;
}

bool plain_number(std::string_view part) {
  return std::all_of(part.begin(), part.end(), digit) && (part.size() == 1 || part[0] != '0') &&
         part.size() <= 9;
}

bool label(std::string_view part) {
  return std::all_of(part.begin(), part.end(), [](char c) { return digit(c) || letter(c) || c == '-'; });
}

}  // namespace

bool valid_task_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxName && lower(name[0]) &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return lower(c) || digit(c) || c == '-' || c == '_'; });
}

bool valid_identifier(std::string_view name, bool dotted) {
  if (name.size() > kMaxIdentifier || (!dotted && name.find('.') != std::string_view::npos)) return false;
  return every_part(name, [](std::string_view part) {
    return !digit(part[0]) &&
           std::all_of(part.begin(), part.end(), [](char c) { return letter(c) || digit(c) || c == '_'; });
  });
}

bool valid_version(std::string_view version) {
  if (version.size() > kMaxVersion) return false;
  const size_t build = version.find('+');
  if (build != std::string_view::npos && !every_part(version.substr(build + 1), label)) return false;
  const std::string_view released = version.substr(0, build);
  const size_t pre = released.find('-');
  // Numbers of a pre-release compare as numbers, so that they have no leading zeros either.
  if (pre != std::string_view::npos && !every_part(released.substr(pre + 1), [](std::string_view part) {
        return label(part) && (!std::all_of(part.begin(), part.end(), digit) || plain_number(part));
      }))
    return false;
  const std::string_view core = released.substr(0, pre);
  return std::count(core.begin(), core.end(), '.') == 2 && every_part(core, plain_number);
}

std::string shown_name(std::string_view name) { return std::string(name.substr(0, kShown)); }

}  // namespace walle::container
