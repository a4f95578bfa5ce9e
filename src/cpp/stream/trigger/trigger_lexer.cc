#include "stream/trigger/trigger_lexer.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace walle::stream {

namespace {
bool word_start(char c) {
  // From 0x80 on: UTF-8, so that names may be in any script without quotes.
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}
bool word_part(char c) {
  // Points, colons and hyphens inside words: `item.page`, `app:start`, `add-to-cart` are common names of
  // events.
  return word_start(c) || std::isdigit(static_cast<unsigned char>(c)) || c == '.' || c == ':' || c == '-';
}
bool number_part(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == ':'; }

// Long lines are cut around the place of an error so that the message stays readable.
constexpr size_t kShown = 100;       // bytes: what a terminal shows in one line
constexpr size_t kShownBefore = 60;  // more than half, because what is wrong often begins before its place

// Longest first.
constexpr std::array<std::string_view, 9> kDouble = {"**", "!~", "~>", "==", "!=", "<=", ">=", "&&", "||"};
constexpr std::string_view kSingle = "@*()[]{}|,!~><?=-+/%$.";
}  // namespace

namespace {
// A byte of UTF-8 that begins no letter: 10xxxxxx.
bool goes_on(char c) { return static_cast<uint8_t>(c) >> 6 == 0b10; }

size_t letters(std::string_view text) { return text.size() - std::ranges::count_if(text, goes_on); }
}  // namespace

int column_in(std::string_view source, int position) {
  return 1 + static_cast<int>(letters(source.substr(0, static_cast<size_t>(std::max(position, 0)))));
}

std::string place_in(std::string_view source, int position) {
  const size_t at = std::min<size_t>(std::max(position, 0), source.size());
  const size_t before = at == 0 ? std::string_view::npos : source.rfind('\n', at - 1);
  const size_t line_start = before == std::string_view::npos ? 0 : before + 1;
  const auto line = 1 + std::count(source.begin(), source.begin() + static_cast<long>(line_start), '\n');
  const size_t line_end = std::min(source.find('\n', line_start), source.size());
  const size_t column = at - line_start;
  size_t from = column > kShownBefore ? at - kShownBefore : line_start;
  while (from > line_start && goes_on(source[from])) --from;
  const std::string shown(source.substr(from, std::min(line_end - from, kShown)));
  // On lines of their own, since what stands before "line" in a message is the caller's: beside it the mark
  // would stand under some other letter.
  return "line " + std::to_string(line) + ", column " +
         std::to_string(letters(source.substr(line_start, column)) + 1) + ":\n" + shown + "\n" +
         std::string(letters(source.substr(from, at - from)), ' ') + "^";
}

bool is_reserved(std::string_view word) {
  static constexpr std::string_view words[] = {
      "within", "gap",  "scope", "skip_past", "every", "once", "cooldown", "rate", "when",   "for",
      "daily",  "idle", "and",   "or",        "not",   "in",   "exists",   "per",  "during", "keep"};
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

namespace {
class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  Result<std::vector<Lexeme>> run() {
    while (at_ < source_.size()) {
      const char c = source_[at_];
      if (std::isspace(static_cast<unsigned char>(c)))
        ++at_;
      else if (c == '#')  // a comment to the end of the line
        at_ = std::min(source_.find('\n', at_), source_.size());
      else if (c == '"')
        WALLE_TRY(quoted());
      else if (std::isdigit(static_cast<unsigned char>(c)))
        number();
      else if (word_start(c))
        word();
      else
        WALLE_TRY(sign());
    }
    out_.push_back({.kind = TokenKind::end, .text = "", .position = static_cast<int>(source_.size())});
    return std::move(out_);
  }

 private:
  // The next `size` bytes; `text` where it is not they.
  void add(TokenKind kind, size_t size) { add(kind, size, std::string(source_.substr(at_, size))); }
  void add(TokenKind kind, size_t size, std::string text) {
    out_.push_back({.kind = kind,
                    .text = std::move(text),
                    .position = static_cast<int>(at_),
                    .length = static_cast<int>(size)});
    at_ += size;
  }

  Status quoted() {
    // No escapes: names hold no quotes, which the catalogue sees to.
    const size_t close = source_.find('"', at_ + 1);
    if (close == std::string_view::npos)
      return argument_error("a text without its closing quote", "\"...\"", here(), "close the quote");
    add(TokenKind::text, close + 1 - at_, std::string(source_.substr(at_ + 1, close - at_ - 1)));
    return {};
  }

  // With its unit; a sign belongs to it behind an exponent's e.
  void number() {
    size_t end = at_ + 1;
    const auto exponent = [&] {
      return (source_[end] == '-' || source_[end] == '+') && source_[end - 1] == 'e';
    };
    while (end < source_.size() && (number_part(source_[end]) || exponent())) ++end;
    add(TokenKind::number, end - at_);
  }

  void word() {
    size_t end = at_ + 1;
    while (end < source_.size() && word_part(source_[end])) ++end;
    add(TokenKind::word, end - at_);
  }

  Status sign() {
    const std::string_view two = source_.substr(at_, 2);
    const bool is_double = std::find(kDouble.begin(), kDouble.end(), two) != kDouble.end();
    if (!is_double && kSingle.find(two[0]) == std::string_view::npos)
      return argument_error({"an unknown character '", std::string_view(two.data(), 1), "'"},
                            "names, numbers, texts and the signs of the language", here(),
                            "remove it, or put the name in quotes");
    add(TokenKind::sign, is_double ? 2 : 1);
    return {};
  }

  std::string here() const { return place_in(source_, static_cast<int>(at_)); }

  std::string_view source_;
  size_t at_ = 0;
  std::vector<Lexeme> out_;
};
}  // namespace

Result<std::vector<Lexeme>> lex_trigger(std::string_view source) {
  if (source.size() > kMaxTriggerText)
    return argument_error({"a trigger of ", source.size(), " bytes"}, {"at most ", kMaxTriggerText},
                          "trigger text", "shorten it");
  return Lexer(source).run();
}

}  // namespace walle::stream
