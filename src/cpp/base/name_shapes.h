// Shapes of names: what a rule says beside a length and reserved words.
#pragma once

#include <string_view>

namespace walle::base {

struct NameShape {
  std::string_view letters;        // behind "1 to 64 ": "of a-z and 0-9"
  std::string_view pattern;        // as a regular expression (ECMA-262); empty where none says it
  bool (*fits)(std::string_view);  // precondition: not empty
};

namespace name_shapes {
extern const NameShape word, account, id, identifier, dotted, platform, hexadecimal, file_word;
extern const NameShape numbers, semantic, path, printable, person;
}  // namespace name_shapes

}  // namespace walle::base
