// Words, numbers, texts and signs of the trigger language, each with its place.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace walle::stream {

inline constexpr size_t kMaxTriggerText = 65536;  // bytes, as written and as written out

enum class TokenKind : uint8_t { word, number, text, sign, end };

struct Lexeme {
  TokenKind kind = TokenKind::end;
  std::string text;  // unquoted
  int position = 0;  // byte offset
  int length = 0;
};

// The letter of `source` at a byte, from 1.
int column_in(std::string_view source, int position);
// "line 2, column 7:", then the line and a mark under the place: the `where` of every error about a trigger's
// text.
std::string place_in(std::string_view source, int position);
// The words of the language, which name events and fields only in quotes.
bool is_reserved(std::string_view word);
Result<std::vector<Lexeme>> lex_trigger(std::string_view source);

}  // namespace walle::stream
