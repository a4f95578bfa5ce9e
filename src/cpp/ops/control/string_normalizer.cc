// StringNormalizer: drops stop words and changes case. Run by the executor, because the number of words left is a value.
//
// Strings have no dtype of their own: an array of them travels as uint8 with one more axis, UTF-8 padded with zeros, the way
// NumPy stores fixed-width bytes. Input [C, W] or [1, C, W]; output [C', W'] or [1, C', W'], one empty word when none is left.
#include <algorithm>

#include "ir/op_def.h"
#include "ops/control_context.h"

namespace walle::ops {

namespace {
enum class Case { none, lower, upper };

char changed(char c, Case to) {
  if (to == Case::lower && c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
  if (to == Case::upper && c >= 'a' && c <= 'z') return static_cast<char>(c - 'a' + 'A');
  return c;
}

std::string with_case(std::string word, Case to) {
  for (char& c : word) c = changed(c, to);
  return word;
}

bool ascii(const std::string& word) {
  return std::all_of(word.begin(), word.end(), [](char c) { return static_cast<unsigned char>(c) < 128; });
}

Result<std::vector<std::string>> words_of(const Tensor* t) {
  const bool fits = t && t->dtype() == DType::uint8 && (t->shape().rank() == 2 || (t->shape().rank() == 3 && t->shape()[0] == 1));
  if (!fits)
    return model_error(t ? std::string(dtype_name(t->dtype())) + t->shape().text() : "no tensor", "strings of shape [C] or [1, C]",
                       "input X", "reshape the strings");
  const auto width = static_cast<size_t>(t->shape().back());
  std::vector<std::string> words;
  const auto* bytes = static_cast<const char*>(t->data());
  for (int64_t i = 0; i < t->shape().product(0, t->shape().rank() - 1); ++i, bytes += width)
    words.emplace_back(bytes, std::find(bytes, bytes + width, '\0'));
  return words;
}

Result<Tensor> tensor_of(const std::vector<std::string>& words, int rank) {
  size_t width = 1;
  for (const std::string& word : words) width = std::max(width, word.size());
  Shape shape{static_cast<int64_t>(words.size()), static_cast<int64_t>(width)};
  if (rank == 3) shape = Shape{1, static_cast<int64_t>(words.size()), static_cast<int64_t>(width)};
  WALLE_ASSIGN(Tensor out, Tensor::zeros(DType::uint8, shape));
  auto* at = static_cast<char*>(out.mutable_data());
  for (const std::string& word : words) {
    std::copy(word.begin(), word.end(), at);
    at += width;
  }
  return out;
}

Status run(ControlContext& c) {
  WALLE_ASSIGN(std::vector<std::string> words, words_of(c.in(0).tensor()));
  const std::string action = c.attrs().get_string("case_change_action", "NONE");
  if (action != "NONE" && action != "LOWER" && action != "UPPER")
    return model_error("case_change_action '" + action + "'", "NONE, LOWER or UPPER", "attribute case_change_action",
                       "export the model again");
  const Case to = action == "LOWER" ? Case::lower : action == "UPPER" ? Case::upper : Case::none;
  const bool sensitive = c.attrs().get_int("is_case_sensitive", 0) != 0;
  std::vector<std::string> stop = c.attrs().get_strings("stopwords");
  // Case beyond ASCII depends on the language; guessing it would be a silent wrong answer.
  if (to != Case::none || !sensitive)
    for (const auto* list : {&words, &stop})
      for (const std::string& word : *list)
        if (!ascii(word) && (to != Case::none || !stop.empty()))
          return model_error("the word '" + word + "'", "ASCII letters where case matters", "StringNormalizer",
                             "normalise the text before the model");
  if (!sensitive)
    for (std::string& word : stop) word = with_case(word, Case::lower);
  std::vector<std::string> left;
  for (std::string& word : words) {
    const std::string key = sensitive ? word : with_case(word, Case::lower);
    if (std::find(stop.begin(), stop.end(), key) == stop.end()) left.push_back(with_case(std::move(word), to));
  }
  if (left.empty()) left.emplace_back();
  WALLE_ASSIGN(Tensor out, tensor_of(left, c.in(0).tensor()->shape().rank()));
  c.output(0, std::move(out));
  return {};
}
}  // namespace

extern const ir::OpDef kStringNormalizerOp{.name = "StringNormalizer", .op_class = ir::OpClass::control, .control = run};

}  // namespace walle::ops
