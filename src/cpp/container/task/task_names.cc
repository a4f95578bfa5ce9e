#include "container/task/task_names.h"

#include <algorithm>

namespace walle::container {

namespace {

constexpr size_t kMaxIdentifier = 255;
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

}  // namespace

bool valid_identifier(std::string_view name, bool dotted) {
  if (name.size() > kMaxIdentifier || (!dotted && name.find('.') != std::string_view::npos)) return false;
  return every_part(name, [](std::string_view part) {
    return !digit(part[0]) &&
           std::all_of(part.begin(), part.end(), [](char c) { return letter(c) || digit(c) || c == '_'; });
  });
}

std::string shown_name(std::string_view name) { return std::string(name.substr(0, kShown)); }

}  // namespace walle::container
