#include "stream/trigger/trigger_lexer.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace walle::stream {

namespace {
bool word_start(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}
bool word_part(char c) {
  return word_start(c) || std::isdigit(static_cast<unsigned char>(c)) || c == '.' || c == ':' || c == '-';
}
bool number_part(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == ':'; }

// Longest first.
constexpr std::array<std::string_view, 8> kDouble = {"**", "!~", "==", "!=", "<=", ">=", "&&", "||"};
constexpr std::string_view kSingle = "@*()[]{}|,!~><?=-";
}  // namespace

std::string place_in(std::string_view source, int position) {
  const size_t at = std::min(static_cast<size_t>(std::max(position, 0)), source.size());
  const size_t line_start = source.rfind('\n', at ? at - 1 : 0) == std::string_view::npos || at == 0
                                ? 0
                                : source.rfind('\n', at - 1) + 1;
  const auto line = 1 + std::count(source.begin(), source.begin() + static_cast<long>(line_start), '\n');
  const size_t line_end = std::min(source.find('\n', line_start), source.size());
  const size_t column = at - line_start;
  // Long lines are cut around the place so that the message stays readable.
  const size_t from = column > 60 ? line_start + column - 60 : line_start;
  const std::string shown(source.substr(from, std::min<size_t>(line_end - from, 100)));
  return "line " + std::to_string(line) + ", column " + std::to_string(column + 1) + ": " + shown + "\n" +
         std::string(8 + at - from, ' ') + "^";
}

Result<std::vector<Lexeme>> lex_trigger(std::string_view source) {
  if (source.size() > kMaxTriggerText)
    return argument_error("a trigger of " + std::to_string(source.size()) + " bytes",
                          "at most " + std::to_string(kMaxTriggerText), "trigger text", "shorten it");
  std::vector<Lexeme> out;
  size_t at = 0;
  const auto add = [&](TokenKind kind, size_t size, std::string text) {
    out.push_back({kind, std::move(text), static_cast<int>(at), static_cast<int>(size)});
    at += size;
  };
  while (at < source.size()) {
    const char c = source[at];
    if (std::isspace(static_cast<unsigned char>(c))) {
      ++at;
    } else if (c == '#') {  // a comment to the end of the line
      at = std::min(source.find('\n', at), source.size());
    } else if (c == '"') {
      const size_t close = source.find('"', at + 1);
      if (close == std::string_view::npos)
        return argument_error("a text without its closing quote", "\"...\"",
                              place_in(source, static_cast<int>(at)), "close the quote");
      add(TokenKind::text, close + 1 - at, std::string(source.substr(at + 1, close - at - 1)));
    } else if (std::isdigit(static_cast<unsigned char>(c))) {
      size_t end = at + 1;
      while (end < source.size() && (number_part(source[end]) ||
                                     ((source[end] == '-' || source[end] == '+') && source[end - 1] == 'e')))
        ++end;
      add(TokenKind::number, end - at, std::string(source.substr(at, end - at)));
    } else if (word_start(c)) {
      size_t end = at + 1;
      while (end < source.size() && word_part(source[end])) ++end;
      add(TokenKind::word, end - at, std::string(source.substr(at, end - at)));
    } else if (const auto two = source.substr(at, 2);
               std::find(kDouble.begin(), kDouble.end(), two) != kDouble.end()) {
      add(TokenKind::sign, 2, std::string(two));
    } else if (kSingle.find(c) != std::string_view::npos) {
      add(TokenKind::sign, 1, std::string(1, c));
    } else {
      return argument_error("an unknown character '" + std::string(1, c) + "'",
                            "names, numbers, texts and the signs of the language",
                            place_in(source, static_cast<int>(at)), "remove it, or put the name in quotes");
    }
  }
  out.push_back({TokenKind::end, "", static_cast<int>(source.size()), 0});
  return out;
}

}  // namespace walle::stream
