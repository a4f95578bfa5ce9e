#include "base/name_shapes.h"

#include <algorithm>
#include <string>

#include "base/utf8.h"

namespace walle::base::name_shapes {

namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }

// Whether a character is of a class as regular expressions write it between their brackets: "a-z0-9_-".
bool in_class(char c, std::string_view letters) {
  for (size_t i = 0; i < letters.size(); ++i) {
    const bool range = i + 2 < letters.size() && letters[i + 1] == '-';
    if (range ? c >= letters[i] && c <= letters[i + 2] : c == letters[i]) return true;
    if (range) i += 2;
  }
  return false;
}

bool of_classes(std::string_view name, std::string_view first, std::string_view rest) {
  return in_class(name[0], first) &&
         std::all_of(name.begin() + 1, name.end(), [&](char c) { return in_class(c, rest); });
}

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

bool plain_text(std::string_view text, std::string_view without) {
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  return std::ranges::none_of(text, control) && text.find_first_of(without) == text.npos && valid_utf8(text);
}

// Of a semantic version, which gives numbers no end: these fit into 32 bits.
bool plain_number(std::string_view part) {
  return std::ranges::all_of(part, digit) && (part.size() == 1 || part[0] != '0') && part.size() <= 9;
}

bool version_part(std::string_view part) { return of_classes(part, "A-Za-z0-9-", "A-Za-z0-9-"); }

// Numbers of a pre-release compare as numbers, so that they have no leading zeros either.
bool pre_release_part(std::string_view part) {
  return version_part(part) && (!std::ranges::all_of(part, digit) || plain_number(part));
}

bool is_semantic(std::string_view version) {
  if (version.ends_with(".lock")) return false;  // git has no such tag
  const size_t build = version.find('+');
  if (build != version.npos && !every_part(version.substr(build + 1), '.', version_part)) return false;
  const std::string_view released = version.substr(0, build);
  const size_t pre = released.find('-');
  if (pre != released.npos && !every_part(released.substr(pre + 1), '.', pre_release_part)) return false;
  const std::string_view core = released.substr(0, pre);
  return std::ranges::count(core, '.') == 2 && every_part(core, '.', plain_number);
}

bool is_numbers(std::string_view text) {
  const auto dots = std::ranges::count(text, '.');
  const auto small = [](std::string_view part) {
    return part.size() <= 3 && std::ranges::all_of(part, digit);
  };
  return (dots == 1 || dots == 2) && every_part(text, '.', small);
}

// Nothing that leaves a folder or means something to git, as whichever file system reads it: parts come from
// files and may become files again.
bool plain_part(std::string_view part) {
  while (part.ends_with('.') || part.ends_with(' ')) part.remove_suffix(1);
  std::string folded(part);
  for (char& c : folded) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return !folded.empty() && folded != ".git" && folded != "git~1";
}

bool is_path(std::string_view text) { return plain_text(text, "\\") && every_part(text, '/', plain_part); }

}  // namespace

// One text for what is checked and for the pattern that a client of the server reads.
#define WALLE_CLASSES(first, rest) \
  "^[" first "][" rest "]*$", [](std::string_view name) { return of_classes(name, first, rest); }
#define WALLE_IDENTIFIER "[A-Za-z_][A-Za-z0-9_]*"

constinit const NameShape word = {"of a-z, 0-9, - and _, of which the first is a letter",
                                  WALLE_CLASSES("a-z", "a-z0-9_-")};
constinit const NameShape account = {"of a-z, 0-9, '.', - and _, of which the first is a letter or digit",
                                     WALLE_CLASSES("a-z0-9", "a-z0-9._-")};
constinit const NameShape id = {"of A-Z, a-z, 0-9, - and _", WALLE_CLASSES("A-Za-z0-9_-", "A-Za-z0-9_-")};
constinit const NameShape identifier = {"of A-Z, a-z, 0-9 and _, of which the first is no digit",
                                        WALLE_CLASSES("A-Za-z_", "A-Za-z0-9_")};
constinit const NameShape dotted = {
    "of A-Z, a-z, 0-9 and _, in parts between dots of which none begins with a digit",
    "^" WALLE_IDENTIFIER "(\\." WALLE_IDENTIFIER ")*$",
    [](std::string_view name) { return every_part(name, '.', identifier.fits); }};
constinit const NameShape platform = {"of a-z, 0-9 and ._/+-", WALLE_CLASSES("a-z0-9._/+-", "a-z0-9._/+-")};
constinit const NameShape hexadecimal = {"of 0-9 and a-f", WALLE_CLASSES("0-9a-f", "0-9a-f")};
constinit const NameShape file_word = {"of A-Z, a-z, 0-9, '.', - and _, of which the first is no dot",
                                       WALLE_CLASSES("A-Za-z0-9_-", "A-Za-z0-9._-")};
constinit const NameShape numbers = {"characters: two or three numbers between dots, as 3.13", "",
                                     is_numbers};
constinit const NameShape semantic = {
    "characters: a semantic version (2.0.0), as 1.0.0, 1.0.0-rc.1 or 1.0.0+7, without .lock at its end", "",
    is_semantic};
constinit const NameShape path = {
    "bytes of UTF-8: a relative path of plain parts between /, as models/net.walle", "", is_path};
// Quotes would end a name in the trigger language, which has no escapes.
constinit const NameShape printable = {"bytes of printable UTF-8 without double quotes", "",
                                       [](std::string_view name) { return plain_text(name, "\""); }};
// Stands in a line of git's, as NAME <MAIL>.
constinit const NameShape person = {
    "bytes of printable UTF-8 without < and >, not blanks alone", "",
    [](std::string_view name) { return plain_text(name, "<>") && name.find_first_not_of(' ') != name.npos; }};

}  // namespace walle::base::name_shapes
