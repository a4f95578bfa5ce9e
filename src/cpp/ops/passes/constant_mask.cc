#include "ops/passes/constant_mask.h"

#include <algorithm>
#include <limits>

namespace walle::ops {

namespace {
// What exporters write for -infinity is the lowest number of some float type of 32 bits or more; a score that
// this is added to has the weight 0.
constexpr float kHiddenBelow = -1e30f;
constexpr float kHidden = -std::numeric_limits<float>::infinity();

enum class Sight { seen, hidden, hidden_for_good, other };

struct Mask {
  const AttentionSpec& spec;
  const AttentionOperand& steps;
  const float* bias;
  const bool* keep;

  static Sight of(float x) {
    if (x == 0) return Sight::seen;
    if (x == kHidden) return Sight::hidden_for_good;
    return x <= kHiddenBelow ? Sight::hidden : Sight::other;
  }
  Sight at(int64_t q, int64_t key) const {
    const int64_t i = steps.offset + q * steps.row + key * steps.col;
    if (bias) return of(bias[i]);
    return keep[i] == spec.keep_value ? Sight::seen : of(static_cast<float>(spec.fill));
  }
};

// The keys a query sees, when they lie together.
struct Row {
  int64_t first = 0, last = -1;
  bool finite = false;  // some are hidden by a number

  static std::optional<Row> of(const Mask& mask, int64_t q) {
    const int64_t keys = mask.spec.keys;
    Row row{keys, -1, false};
    for (int64_t key = 0; key < keys; ++key) {
      const Sight sight = mask.at(q, key);
      if (sight == Sight::other) return std::nullopt;
      row.finite |= sight == Sight::hidden;
      if (sight != Sight::seen) continue;
      if (row.last >= 0 && row.last != key - 1) return std::nullopt;
      row.first = std::min(row.first, key);
      row.last = key;
    }
    return row;
  }
  bool empty() const { return last < 0; }
};

// `row` is what `band` shows query q.
bool fits(const Row& row, KeyBand band, int64_t q, int64_t keys) {
  const int64_t first = std::max<int64_t>(0, q + band.first), last = std::min(keys - 1, q + band.last);
  return row.empty() ? first > last : first == row.first && last == row.last;
}
}  // namespace

std::optional<KeyBand> band_of_mask(const Tensor& mask, const AttentionSpec& spec,
                                    AttentionSpec::Operand operand, bool alone) {
  const auto moves = [](int64_t step) { return step != 0; };
  if (std::ranges::any_of(spec.operands[operand].heads, moves)) return std::nullopt;
  const bool keep = operand == AttentionSpec::kKeep;
  const Mask of{spec, spec.operands[operand], keep ? nullptr : mask.as<float>().data(),
                keep ? mask.as<bool>().data() : nullptr};
  // A query that does not see a key at one end says where that end of the band is.
  KeyBand band;
  for (const bool decided : {false, true})
    for (int64_t q = 0; q < spec.queries; ++q) {
      const auto row = Row::of(of, q);
      if (!row || (row->finite && (!alone || row->empty()))) return std::nullopt;
      if (decided && !fits(*row, band, q, spec.keys)) return std::nullopt;
      if (decided || row->empty()) continue;
      if (row->first > 0) band.first = row->first - q;
      if (row->last < spec.keys - 1) band.last = row->last - q;
    }
  return band;
}

}  // namespace walle::ops
