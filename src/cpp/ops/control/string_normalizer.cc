// StringNormalizer: drops stop words and changes case, by Unicode's tables whatever `locale` says. Run by the
// executor, because the number of words left is a value. How strings travel: ops/rules/words.h. Input [C] or
// [1, C]; output [C'] or [1, C'], one empty word when none is left.
#include <algorithm>

#include "ir/op_def.h"
#include "ops/control_context.h"
#include "ops/rules/unicode.h"
#include "ops/rules/words.h"

namespace walle::ops {

namespace {
enum class Case { none, lower, upper };

std::string with_case(const std::string& word, Case to) {
  if (to == Case::none) return word;
  return to == Case::lower ? lower_case(word) : upper_case(word);
}

Status run(ControlContext& c) {
  WALLE_ASSIGN(Words given, words_of(c.in(0).tensor(), "input X"));
  const int rank = given.shape.rank();
  if (rank != 1 && !(rank == 2 && given.shape[0] == 1))
    return model_error({"strings of shape ", given.shape.text()}, "shape [C] or [1, C]", "input X",
                       "reshape the strings");
  std::vector<std::string>& words = given.items;
  const std::string action = c.attrs().get_string("case_change_action", "NONE");
  if (action != "NONE" && action != "LOWER" && action != "UPPER")
    return model_error({"case_change_action '", action, "'"}, "NONE, LOWER or UPPER",
                       "attribute case_change_action", "export the model again");
  const Case to = action == "LOWER" ? Case::lower : action == "UPPER" ? Case::upper : Case::none;
  const bool sensitive = c.attrs().get_int("is_case_sensitive", 0) != 0;
  std::vector<std::string> stop = c.attrs().get_strings("stopwords");
  if (!sensitive)
    for (std::string& word : stop) word = with_case(word, Case::lower);
  std::vector<std::string> left;
  for (const std::string& word : words) {
    const std::string key = sensitive ? word : with_case(word, Case::lower);
    if (std::find(stop.begin(), stop.end(), key) == stop.end()) left.push_back(with_case(word, to));
  }
  // As ONNX says: one empty string, since an output of no strings would have no row.
  if (left.empty()) left.emplace_back();
  Shape shape = given.shape;
  shape[rank - 1] = static_cast<int64_t>(left.size());
  WALLE_ASSIGN(Tensor out, tensor_of({shape, std::move(left)}));
  c.output(0, std::move(out));
  return {};
}
}  // namespace

extern const ir::OpDef kStringNormalizerOp{
    .name = "StringNormalizer", .op_class = ir::OpClass::control, .control = run};

}  // namespace walle::ops
