// StringSplit: the pieces of each string along one more axis, padded with empty strings, and how many each
// has.
#include <algorithm>
#include <cctype>

#include "ir/op_def.h"
#include "ops/control_context.h"
#include "ops/rules/words.h"

namespace walle::ops {

namespace {
using Pieces = std::vector<std::string>;

bool is_space(char ch) { return std::isspace(static_cast<unsigned char>(ch)) != 0; }

// Between runs of white space, none at the ends; what is left after `most` splits stays together.
Pieces split_at_spaces(const std::string& word, int64_t most) {
  Pieces out;
  auto at = word.begin();
  for (;;) {
    at = std::find_if_not(at, word.end(), is_space);
    if (at == word.end()) return out;
    // maxsplit counts splits: one piece more may come.
    if (static_cast<int64_t>(out.size()) == most) {
      out.emplace_back(at, word.end());
      return out;
    }
    const auto end = std::find_if(at, word.end(), is_space);
    out.emplace_back(at, end);
    at = end;
  }
}

Pieces split_at(const std::string& word, const std::string& delimiter, int64_t most) {
  Pieces out;
  // Nothing to split gives no piece, unlike Python's "".split(",").
  if (word.empty()) return out;
  size_t at = 0;
  while (static_cast<int64_t>(out.size()) < most) {
    const size_t end = word.find(delimiter, at);
    if (end == std::string::npos) break;
    out.push_back(word.substr(at, end - at));
    at = end + delimiter.size();
  }
  out.push_back(word.substr(at));
  return out;
}

Status run(ControlContext& c) {
  WALLE_ASSIGN(const Words words, words_of(c.in(0).tensor(), "input X"));
  const std::string delimiter = c.attrs().get_string("delimiter", "");
  const int64_t most = c.attrs().get_int("maxsplit", INT64_MAX);
  if (most < 0) return model_error({"maxsplit ", most}, "0 or more", "StringSplit", "leave it out");
  std::vector<Pieces> pieces;
  int64_t widest = 0;
  WALLE_ASSIGN(Tensor counts, Tensor::allocate(DType::int64, words.shape));
  auto count = counts.as_mutable<int64_t>().begin();
  for (const std::string& word : words.items) {
    pieces.push_back(delimiter.empty() ? split_at_spaces(word, most) : split_at(word, delimiter, most));
    const auto n = static_cast<int64_t>(pieces.back().size());
    widest = std::max(widest, n);
    *count++ = n;
  }
  std::vector<int64_t> dims(words.shape.begin(), words.shape.end());
  dims.push_back(widest);
  // The padding is what a hostile input would make large: one string of a million pieces beside a million
  // empty.
  WALLE_ASSIGN(const Shape shape, Shape::checked(dims, kWordBytes, "StringSplit"));
  Words out{shape, std::vector<std::string>(shape.elements())};
  for (size_t i = 0; i < pieces.size(); ++i)
    std::ranges::move(pieces[i], out.items.begin() + static_cast<int64_t>(i) * widest);
  WALLE_ASSIGN(Tensor result, tensor_of(out));
  c.output(0, std::move(result));
  if (c.output_count() > 1) c.output(1, std::move(counts));
  return {};
}
}  // namespace

extern const ir::OpDef kStringSplitOp{
    .name = "StringSplit", .op_class = ir::OpClass::control, .outputs = {1, 2}, .control = run};

}  // namespace walle::ops
