// LexemeCursor: where a parser stands among the lexemes of a trigger, and what it says when it cannot go on.
#pragma once

#include "stream/trigger/trigger_lexer.h"

namespace walle::stream {

class LexemeCursor {
 public:
  // `lexemes` end with TokenKind::end, which is never passed.
  LexemeCursor(std::string_view source, std::vector<Lexeme> lexemes)
      : source_(source), lexemes_(std::move(lexemes)) {}

  // Past the end it is the end again, so that no rule of the grammar must ask first.
  const Lexeme& peek(size_t ahead = 0) const { return lexemes_[std::min(at_ + ahead, lexemes_.size() - 1)]; }
  const Lexeme& take() { return lexemes_[at_ < lexemes_.size() - 1 ? at_++ : at_]; }
  // Of the next lexeme, in letters of the whole text from 1.
  int column() const { return column_in(source_, peek().position); }
  bool at_end() const { return peek().kind == TokenKind::end; }

  bool is(std::string_view sign) const { return peek().kind == TokenKind::sign && peek().text == sign; }
  bool is_word(std::string_view word, size_t ahead = 0) const {
    return peek(ahead).kind == TokenKind::word && peek(ahead).text == word;
  }
  // A name that may stand without quotes, or any in quotes.
  bool is_name() const {
    const Lexeme& l = peek();
    return l.kind == TokenKind::text || (l.kind == TokenKind::word && !is_reserved(l.text));
  }
  bool accept(std::string_view sign) { return is(sign) && pass(); }
  bool accept_word(std::string_view word) { return is_word(word) && pass(); }

  Error wrong(Text expected, Text next) const { return wrong_at(peek(), expected, next); }
  Error wrong_at(const Lexeme& l, Text expected, Text next) const {
    const std::string_view text =
        source_.substr(static_cast<size_t>(l.position), static_cast<size_t>(l.length));
    const bool end = l.kind == TokenKind::end;
    return argument_error(end ? Text("the end of the trigger") : Text{"'", text, "'"}, expected,
                          place_in(source_, l.position), next);
  }
  Status expect(std::string_view sign, std::string_view next) {
    if (accept(sign)) return {};
    return wrong({"'", sign, "'"}, next);
  }

 private:
  bool pass() {
    take();
    return true;
  }

  std::string_view source_;
  std::vector<Lexeme> lexemes_;
  size_t at_ = 0;
};

}  // namespace walle::stream
