#include "link/trust/path_match.h"

#include <algorithm>

namespace walle::link {

namespace {
bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

// Bytes of the UTF-8 character at the front: `?` stands for one of these.
size_t character_size(std::string_view text) {
  size_t size = 1;
  while (size < text.size() && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) ++size;
  return size;
}
}  // namespace

// One mark to come back to is enough: what an earlier `*` could take, the latest can, up to the next "/",
// which none takes. So this costs path times pattern at most.
bool matches_pattern(std::string_view path, std::string_view pattern) {
  size_t at = 0;
  size_t in_pattern = 0;
  size_t star = std::string_view::npos;
  size_t behind_star = 0;
  while (at < path.size()) {
    const char next = in_pattern < pattern.size() ? pattern[in_pattern] : '\0';
    const bool here = in_pattern < pattern.size();
    if (here && next == '*') {
      star = in_pattern++;
      behind_star = at;
    } else if (here && next == '?' && path[at] != '/') {
      at += character_size(path.substr(at));
      ++in_pattern;
    } else if (here && next == path[at] && next != '?') {
      if (next == '/') star = std::string_view::npos;
      ++at;
      ++in_pattern;
    } else if (star != std::string_view::npos && path[behind_star] != '/') {
      behind_star += character_size(path.substr(behind_star));
      at = behind_star;
      in_pattern = star + 1;
    } else {
      return false;
    }
  }
  while (in_pattern < pattern.size() && pattern[in_pattern] == '*') ++in_pattern;
  return in_pattern == pattern.size();
}

bool covers(const Delegation& delegation, std::string_view path, std::string_view path_digest) {
  return std::ranges::any_of(delegation.paths,
                             [&](const std::string& pattern) { return matches_pattern(path, pattern); }) ||
         std::ranges::any_of(delegation.path_hash_prefixes,
                             [&](const std::string& prefix) { return path_digest.starts_with(prefix); });
}

std::string encode_path(std::string_view path) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : path) {
    if (is_plain(c) || c == '/') {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

std::string encode_name(std::string_view name) {
  std::string out;
  for (const char c : encode_path(name)) {
    if (c == '/')
      out += "%2F";
    else
      out += c;
  }
  return out;
}

}  // namespace walle::link
