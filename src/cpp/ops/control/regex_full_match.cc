// RegexFullMatch: whether each string as a whole matches a pattern.
#include "ir/op_def.h"
#include "ops/control/regex.h"
#include "ops/control_context.h"
#include "ops/rules/words.h"

namespace walle::ops {

namespace {
Status run(ControlContext& c) {
  WALLE_ASSIGN(const Words words, words_of(c.in(0).tensor(), "input X"));
  WALLE_ASSIGN(const Regex regex, Regex::compile(c.attrs().get_string("pattern", "")));
  WALLE_ASSIGN(Tensor out, Tensor::allocate(DType::boolean, words.shape));
  auto to = out.as_mutable<bool>().begin();
  for (const std::string& word : words.items) *to++ = regex.matches(word);
  c.output(0, std::move(out));
  return {};
}
}  // namespace

extern const ir::OpDef kRegexFullMatchOp{
    .name = "RegexFullMatch", .op_class = ir::OpClass::control, .control = run};

}  // namespace walle::ops
