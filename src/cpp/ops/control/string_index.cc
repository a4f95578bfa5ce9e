// StringIndex: the place of each string in the list `keys`, -1 where it is not there. Of equal keys the first
// counts.
#include <unordered_map>

#include "ir/op_def.h"
#include "ops/control_context.h"
#include "ops/rules/words.h"

namespace walle::ops {

namespace {
Status run(ControlContext& c) {
  WALLE_ASSIGN(const Words words, words_of(c.in(0).tensor(), "input X"));
  const std::vector<std::string> keys = c.attrs().get_strings("keys");
  // Views of `keys`, which lives as long; emplace() keeps the first of equal keys.
  std::unordered_map<std::string_view, int64_t> places;
  for (size_t i = 0; i < keys.size(); ++i) places.emplace(keys[i], static_cast<int64_t>(i));
  WALLE_ASSIGN(Tensor out, Tensor::allocate(DType::int64, words.shape));
  auto to = out.as_mutable<int64_t>().begin();
  for (const std::string& word : words.items) {
    const auto found = places.find(word);
    *to++ = found == places.end() ? -1 : found->second;
  }
  c.output(0, std::move(out));
  return {};
}
}  // namespace

extern const ir::OpDef kStringIndexOp{
    .name = "StringIndex", .op_class = ir::OpClass::control, .control = run};

}  // namespace walle::ops
