// Movement of strings. An array of strings has one more axis than the model says and its width is a value, so
// operators that move data work on the positions of the strings instead, and the strings follow:
//   StringPositions(a, b, ...) -> all strings one behind the other, positions of a, positions of b, ...; with
//     ranked = 1 the distinct strings in the order of their bytes, so that positions are equal where strings
//     are
//   StringPick(strings, positions) -> the strings at these positions, in the shape of the positions; a
//     negative one counts from the end, as in Gather
#include <algorithm>
#include <array>
#include <numeric>

#include "ir/op_def.h"
#include "ops/control_context.h"
#include "ops/rules/words.h"

namespace walle::ops {

namespace {
Status run_ranks(ControlContext& c) {
  std::vector<Words> given;
  Words all;
  for (int i = 0; i < c.input_count(); ++i) {
    WALLE_ASSIGN(given.emplace_back(), words_of(c.in(i).tensor(), "input " + std::to_string(i)));
    all.items.insert(all.items.end(), given.back().items.begin(), given.back().items.end());
  }
  std::ranges::sort(all.items);
  // Not std::ranges::unique: it gives a subrange, which clang 14 cannot make of libstdc++'s.
  all.items.erase(std::unique(all.items.begin(), all.items.end()), all.items.end());
  for (int i = 0; i < c.input_count() && i + 1 < c.output_count(); ++i) {
    WALLE_ASSIGN(Tensor places, Tensor::allocate(DType::int64, given[i].shape));
    std::ranges::transform(given[i].items, places.as_mutable<int64_t>().begin(),
                           [&](const std::string& word) {
                             return std::ranges::lower_bound(all.items, word) - all.items.begin();
                           });
    c.output(i + 1, std::move(places));
  }
  all.shape = Shape{std::ssize(all.items)};
  WALLE_ASSIGN(Tensor pool, tensor_of(all));
  c.output(0, std::move(pool));
  return {};
}

Status run_positions(ControlContext& c) {
  if (c.attrs().get_int("ranked", 0) != 0) return run_ranks(c);
  Words all;
  for (int i = 0; i < c.input_count(); ++i) {
    WALLE_ASSIGN(Words words, words_of(c.in(i).tensor(), "input " + std::to_string(i)));
    WALLE_ASSIGN(Tensor places, Tensor::allocate(DType::int64, words.shape));
    const auto to = places.as_mutable<int64_t>();
    std::iota(to.begin(), to.end(), static_cast<int64_t>(all.items.size()));
    if (i + 1 < c.output_count()) c.output(i + 1, std::move(places));
    // One list for all inputs: a Concat of positions then needs no case for strings.
    all.items.insert(all.items.end(), std::make_move_iterator(words.items.begin()),
                     std::make_move_iterator(words.items.end()));
  }
  all.shape = Shape{static_cast<int64_t>(all.items.size())};
  WALLE_ASSIGN(Tensor pool, tensor_of(all));
  c.output(0, std::move(pool));
  return {};
}

Status run_pick(ControlContext& c) {
  WALLE_ASSIGN(const Words words, words_of(c.in(0).tensor(), "input strings"));
  const Tensor* positions = c.in(1).tensor();
  if (!positions || positions->dtype() != DType::int64)
    return model_error("positions that are not int64", "a tensor of int64", "StringPick", "cast them");
  // Before anything of that size is made.
  WALLE_ASSIGN(const Shape shape, Shape::checked(positions->shape().dims(), kWordBytes, "StringPick"));
  Words out{shape, {}};
  out.items.reserve(shape.elements());
  const auto count = static_cast<int64_t>(words.items.size());
  for (int64_t p : positions->as<int64_t>()) {
    if (p < -count || p >= count)
      return model_error({"position ", p, " of ", count, " strings"}, "a position among them", "StringPick",
                         "check the indices");
    out.items.push_back(words.items[p < 0 ? p + count : p]);
  }
  WALLE_ASSIGN(Tensor result, tensor_of(out));
  c.output(0, std::move(result));
  return {};
}

constexpr std::array kRows{
    ir::OpDef{.name = "StringPositions",
              .op_class = ir::OpClass::control,
              .inputs = {1, -1},
              .outputs = {1, -1},
              .control = run_positions},
    ir::OpDef{.name = "StringPick", .op_class = ir::OpClass::control, .inputs = {2, 2}, .control = run_pick}};
}  // namespace

extern const std::span<const ir::OpDef> kStringPositionsOps = kRows;

}  // namespace walle::ops
