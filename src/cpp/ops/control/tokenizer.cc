// Tokenizer (com.microsoft, which text pipelines of scikit-learn export to): the tokens of each string along
// one more axis, padded with pad_value. Tokens are what matches `tokenexp`, or what lies between
// `separators`.
#include <algorithm>

#include "ir/op_def.h"
#include "ops/control/regex.h"
#include "ops/control_context.h"
#include "ops/rules/words.h"

namespace walle::ops {

namespace {
using Tokens = std::vector<std::string>;

// Bytes of the code point that starts here.
// By the bytes that follow (10xxxxxx): also right for text that is no UTF-8, where each byte is a letter.
size_t letter_bytes(const std::string& text, size_t at) {
  size_t n = 1;
  while (at + n < text.size() && (static_cast<uint8_t>(text[at + n]) >> 6) == 2) ++n;
  return n;
}

size_t letters(const std::string& text) {
  size_t count = 0;
  for (size_t at = 0; at < text.size(); at += letter_bytes(text, at)) ++count;
  return count;
}

Tokens single_letters(const std::string& text) {
  Tokens out;
  for (size_t at = 0; at < text.size(); at += out.back().size())
    out.push_back(text.substr(at, letter_bytes(text, at)));
  return out;
}

// One separator after the other cuts what the earlier ones left; empty pieces go.
Tokens between(const std::string& text, const std::vector<std::string>& separators) {
  Tokens pieces{text};
  for (const std::string& separator : separators) {
    Tokens finer;
    for (const std::string& piece : pieces) {
      size_t at = 0;
      for (size_t end = piece.find(separator); end != std::string::npos; end = piece.find(separator, at)) {
        finer.push_back(piece.substr(at, end - at));
        at = end + separator.size();
      }
      finer.push_back(piece.substr(at));
    }
    pieces = std::move(finer);
  }
  std::erase(pieces, "");
  return pieces;
}

Status run(ControlContext& c) {
  WALLE_ASSIGN(const Words words, words_of(c.in(0).tensor(), "input X"));
  const std::vector<std::string> separators = c.attrs().get_strings("separators");
  const std::string expression = c.attrs().get_string("tokenexp", "");
  if (separators.empty() == expression.empty())
    return model_error("both or none of separators and tokenexp", "one of them", "Tokenizer",
                       "export the model again");
  // Both spellings are onnxruntime's for single characters.
  const bool each_letter = expression == "." || (separators.size() == 1 && separators[0].empty());
  if (!each_letter && std::ranges::find(separators, "") != separators.end())
    return model_error("an empty separator beside others", "non-empty separators", "Tokenizer",
                       "export the model again");
  WALLE_ASSIGN(const Regex regex, Regex::compile(expression));
  const auto least = static_cast<size_t>(std::max<int64_t>(c.attrs().get_int("mincharnum", 1), 0));
  const bool mark = c.attrs().get_int("mark", 0) != 0;
  std::vector<Tokens> all;
  size_t widest = 0;
  for (const std::string& word : words.items) {
    Tokens found = each_letter          ? single_letters(word)
                   : expression.empty() ? between(word, separators)
                                        : regex.all(word);
    // Length in letters, not bytes: mincharnum counts characters.
    std::erase_if(found, [least](const std::string& token) { return letters(token) < least; });
    if (mark) {
      // STX and ETX, the marks that onnxruntime's operator puts.
      found.insert(found.begin(), "\x02");
      found.push_back("\x03");
    }
    widest = std::max(widest, found.size());
    all.push_back(std::move(found));
  }
  std::vector<int64_t> dims(words.shape.begin(), words.shape.end());
  dims.push_back(static_cast<int64_t>(widest));
  WALLE_ASSIGN(const Shape shape, Shape::checked(dims, kWordBytes, "Tokenizer"));
  const std::string pad = c.attrs().get_string("pad_value", "");
  Words out{shape, std::vector<std::string>(shape.elements(), pad)};
  for (size_t i = 0; i < all.size(); ++i)
    std::ranges::move(all[i], out.items.begin() + static_cast<int64_t>(i * widest));
  WALLE_ASSIGN(Tensor result, tensor_of(out));
  c.output(0, std::move(result));
  return {};
}
}  // namespace

extern const ir::OpDef kTokenizerOp{.name = "Tokenizer", .op_class = ir::OpClass::control, .control = run};

}  // namespace walle::ops
