#include "base/names.h"

#include <algorithm>

#include "base/utf8.h"

namespace walle::base {

namespace {

constexpr size_t kMaxTaskName = 64;
constexpr size_t kMaxVersion = 64;
constexpr size_t kMaxPartName = 255;  // what file systems allow

bool digit(char c) { return c >= '0' && c <= '9'; }
bool lower(char c) { return c >= 'a' && c <= 'z'; }
bool letter(char c) { return lower(c) || (c >= 'A' && c <= 'Z'); }

// Whether every part between the separators passes `fits`, and there is one.
template <class Fits>
bool every_part(std::string_view text, char separator, Fits fits) {
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(separator, at), text.size());
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
  return !name.empty() && name.size() <= kMaxTaskName && lower(name[0]) &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return lower(c) || digit(c) || c == '-' || c == '_'; });
}

bool valid_version(std::string_view version) {
  if (version.size() > kMaxVersion) return false;
  const size_t build = version.find('+');
  if (build != std::string_view::npos && !every_part(version.substr(build + 1), '.', label)) return false;
  const std::string_view released = version.substr(0, build);
  const size_t pre = released.find('-');
  // Numbers of a pre-release compare as numbers, so that they have no leading zeros either.
  if (pre != std::string_view::npos && !every_part(released.substr(pre + 1), '.', [](std::string_view part) {
        return label(part) && (!std::all_of(part.begin(), part.end(), digit) || plain_number(part));
      }))
    return false;
  const std::string_view core = released.substr(0, pre);
  return std::count(core.begin(), core.end(), '.') == 2 && every_part(core, '.', plain_number);
}

bool valid_part_name(std::string_view name) {
  if (name.size() > kMaxPartName || !valid_utf8(name)) return false;
  // Parts come from files and may become files again: nothing that leaves a folder, on any system.
  if (std::any_of(name.begin(), name.end(),
                  [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '\\' || c == 0x7f; }))
    return false;
  return every_part(name, '/', [](std::string_view part) { return part != "." && part != ".."; });
}

}  // namespace walle::base
